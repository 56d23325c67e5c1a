"""Managers: processes that work at any Kubernetes API server, as upstream's do.

* `programs`      what each of kapy's managers runs, and the name of its Lease
* `options`       what a manager is told, by upstream's flags
* `running`       one manager: connection, leader election, controllers, endpoints
* `endpoints`     where it tells how it is: `/healthz`, `/readyz`
* `diagnostics`   where it shows what it does, to those who may see it: `/metrics`, log level
"""
