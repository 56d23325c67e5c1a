"""Managed topologies: Clusters that are made of a ClusterClass.

One look at such a Cluster goes blueprint (the class and its templates) → current state → desired
state (`kapy.topology`, pure) → plan (what differs, found out by dry runs) → writes. All is known to
be acceptable before the first write; what was made for an object that is refused after all is
taken back. TopologyReconciled says how far it is, and what is in the way.

The templates of MachineDeployments and MachineSets that go are deleted when nobody uses them any
more.
"""
