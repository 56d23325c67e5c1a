"""ClusterResourceSetBinding: what ClusterResourceSets have put into one Cluster.

ClusterResourceSets write it; this controller sees to its end, which is its Cluster's.
"""
