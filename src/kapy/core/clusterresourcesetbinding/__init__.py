"""ClusterResourceSetBinding: the record of objects that were applied to one Cluster.

ClusterResourceSets write it; this controller deletes it with its Cluster.
"""
