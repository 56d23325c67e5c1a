"""The workload controllers of kube-controller-manager, and a scheduler: Deployments, ReplicaSets,
DaemonSets, StatefulSets and Jobs get Pods, Pods get Nodes, Services get EndpointSlices.

The statuses of Pods are written by `kapy.node_agent` on a plane and by a simulation in simulated
workload clusters.
"""
