"""Migration of custom resources after their CRD has changed (upstream: `controllers/crdmigrator`).

* `controller`  which CRDs have to be reconciled, the record that one was, and both phases: objects
  are rewritten in the storage version, and managedFields entries of versions that are not served
  are removed
* `phases`      names of the two phases
"""
