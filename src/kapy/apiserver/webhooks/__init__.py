"""Webhooks over HTTPS: admission (`admissionregistration.k8s.io/v1`) and conversion of CRDs.

`webhook_source.WebhookSource` watches the server's own store. The other modules are imported only
when a configuration exists. `admission.AdmissionWebhooks` is then the last of the server's
admission plug-ins.
"""
