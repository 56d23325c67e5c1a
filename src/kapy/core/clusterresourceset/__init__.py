"""ClusterResourceSet: objects that are applied to every workload cluster that a selector selects.

The objects are values of ConfigMaps and Secrets in the set's namespace. Each cluster has a
ClusterResourceSetBinding that records what was applied. With the strategy ApplyOnce an object is
never changed again; with Reconcile it is updated whenever its source changes. Objects are never
deleted.
"""
