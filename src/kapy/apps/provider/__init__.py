"""Custom providers (`kapy.sdk.Provider`): loading, releases, running.

* `loading`      a provider by `MODULE:NAME`
* `controllers`  adds its controllers to a runtime
* `definitions`  its CRDs
* `rights`       the RBAC rules of its controllers, and those of core for its kinds
* `components`   all objects of its components file
* `release`      the folder that `kapy init` and clusterctl install from; `page`: its README
* `program`      runs it alone against any Kubernetes, with `kapy.apps.program`
"""
