"""HTTPS with a certificate that stays valid: of extensions, webhooks, diagnostics.

`serving` runs an application on a port until it is told to stop. `certificate` looks after what it
shows, from a folder; `shared` from a Secret that replicas share (`authorities`).
"""
