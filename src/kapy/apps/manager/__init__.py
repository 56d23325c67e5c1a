"""kapy's own managers, each a program like upstream's (`kapy.apps.program` runs them).

* `programs`        the controllers of each, and the name of its Lease
* `webhooks`        admission and conversion of our kinds, `configurations` their configurations
* `rights`          the RBAC rules of each
* `components`      all objects of its components file
* `release`         the folder that `kapy init` and clusterctl install from
"""
