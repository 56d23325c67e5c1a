"""Migration of custom resources after their CRD has changed (upstream: `controllers/crdmigrator`).

* `controller`       which CRDs have to be reconciled, and the record that one was
* `phases`           names of the two phases
* `storage_version`  objects are rewritten in the storage version
* `managed_fields`   managedFields entries of versions that are not served are removed
"""
