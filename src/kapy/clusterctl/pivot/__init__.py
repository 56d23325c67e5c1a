"""Pivots: a workload cluster becomes its own management cluster, or gives its objects back.

A pivot installs the management cluster's providers in the workload cluster, waits for them and
moves the objects (`kapy.clusterctl.move`). Each step first checks what is done already, so an
interrupted pivot can be repeated.

* `required_providers`    pure: the providers that the workload cluster lacks
* `host`      checks of the workload cluster before it runs them
* `access`    its kubeconfig, kept in a file because the Secret moves with the cluster
* `managers`  waits for the Deployments of providers, and reports why their Pods do not run
* `operation` the pivot as a whole
"""
