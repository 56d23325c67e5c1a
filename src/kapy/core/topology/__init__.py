"""Managed topologies: Clusters that are created from a ClusterClass.

One reconcile of such a Cluster goes: blueprint (the class and its templates) → current state →
desired state (`kapy.topology`, pure) → plan (the differences, found by dry runs) → writes. The
whole plan is verified before the first write; objects of a write that is refused nevertheless are
cleaned up. TopologyReconciled reports progress and errors.

Unused templates of deleted MachineDeployments and MachineSets are deleted.
"""
