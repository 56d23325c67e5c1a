"""ClusterClass: what many clusters have in common.

This controller makes the templates that a class refers to the class's own (they move with it, and
go with it), tells which references name an old version of their kind, and gathers in the status
all variables that Clusters may set. Admission asks the Clusters that use a class about its changes
and its deletion.
"""
