"""Pivots: a workload cluster becomes its own management cluster, or gives its objects back.

A pivot installs the providers of the management cluster in the workload cluster, waits for them
and moves the objects (`kapy.clusterctl.move`). Each step looks first at what is done already, so a
pivot that was interrupted at any step is repeated.

* `needed`    pure: which providers the workload cluster lacks
* `host`      checks of a workload cluster that is to run them
* `access`    its kubeconfig, kept in a file because the Secret moves with the cluster
* `managers`  waiting for the Deployments of providers, with what keeps their Pods from running
* `operation` the pivot as a whole
"""
