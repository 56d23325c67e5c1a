"""Building blocks for provider components, of kapy's own and other providers.

* `objects`   objects, with the label of their provider
* `rules`     RBAC rules, roles and bindings
* `programs`  what any controller program needs: Lease, certificate, access to diagnostics
* `pods`      a Pod with minimal privileges
* `serving`   the names of a webhook server's objects
"""
