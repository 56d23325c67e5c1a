"""ClusterClass: the shared definition of many clusters.

This controller owns the templates that a class refers to (they are moved and deleted with it),
reports references to old versions of a kind, and collects all variables in the status. Admission
checks changes and deletion against the Clusters of the class.
"""
