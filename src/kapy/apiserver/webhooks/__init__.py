"""Webhooks over HTTPS: admission (`admissionregistration.k8s.io/v1`) and conversion of CRDs.

`following.Following` watches a server's own store; nothing else here is imported, and nothing is
done for a request, until there is a configuration. `admission.Webhooks` then stands last among the
server's admission plug-ins.
"""
