"""ClusterResourceSet: objects that are put into every workload cluster that a selector selects.

The objects stand in the values of ConfigMaps and Secrets of the set's namespace. Each cluster has a
ClusterResourceSetBinding that tells what was put there; with the strategy ApplyOnce an object is
never touched again after that, with Reconcile it is made equal whenever its source changes.
Nothing is ever removed from a cluster.
"""
