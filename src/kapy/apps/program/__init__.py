"""A program of controllers at any Kubernetes API server: a manager of ours, a provider of anybody's.

* `options`       what it is told, by upstream's flags
* `running`       connection, leader election, controllers, webhooks, endpoints
* `endpoints`     where it tells how it is: `/healthz`, `/readyz`
* `diagnostics`   where it shows what it does, to those who may see it: `/metrics`, log level
* `injection`     whom API servers are told to trust for its webhooks
"""
