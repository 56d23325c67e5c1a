"""Controller programs for any Kubernetes API server: kapy's managers and custom providers.

* `options`          settings, from upstream's flags
* `process`          connection, leader election, controllers, endpoints
* `webhook_serving`  webhooks, with a certificate that API servers trust
* `endpoints`        health endpoints, `/healthz` and `/readyz`, and the readiness behind them
* `diagnostics`      `/metrics` and the log level, for authorized users
* `ca_injection`     the CA bundle in webhook configurations and CRDs
"""
