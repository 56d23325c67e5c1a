"""ClusterClass: what many clusters have in common.

So far: the checks of its changes and deletion that ask for the Clusters which use it.
"""
