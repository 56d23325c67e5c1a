"""kapy's own managers, each a program as upstream's are (`kapy.apps.program` runs them).

* `programs`        what each runs, and the name of its Lease
* `webhooks`        admission and conversion of our kinds, `configurations` who asks for them
* `rights`          what each may do
* `components`      all objects of its components file
* `release`         the folder that `kapy init` and clusterctl install from
"""
