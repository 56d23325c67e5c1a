"""A provider of somebody's own (`kapy.sdk.Provider`): found, printed as a release, run.

* `loading`      a provider by `MODULE:NAME`, `controllers` its controllers to a runtime
* `definitions`  its CRDs
* `rights`       what its controllers may do, and core with its kinds
* `components`   all objects of its components file
* `release`      the folder that `kapy init` and clusterctl install from, `page` what is in it
* `program`      it alone against any Kubernetes, as `kapy.apps.program` runs it
"""
