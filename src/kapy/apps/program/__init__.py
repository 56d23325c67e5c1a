"""Programs of controllers at any Kubernetes API server: managers of ours, providers of anybody's.

* `options`       what it is told, by upstream's flags
* `process`       connection, leader election, controllers, endpoints
* `webhook_serving`      what API servers ask it, with a certificate that they trust
* `endpoints`     where it tells how it is: `/healthz`, `/readyz`
* `diagnostics`   where it shows what it does, to those who may see it: `/metrics`, log level
* `ca_injection`     whom API servers are told to trust for its webhooks
"""
