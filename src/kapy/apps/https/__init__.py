"""HTTPS servers with self-renewing certificates, for extensions, webhooks and diagnostics.

`serving` runs an application on a port until it is stopped. `certificate` keeps a certificate in a
folder, `shared_certificate` in a Secret that replicas share (`authorities`).
"""
