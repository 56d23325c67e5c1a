"""The workload controllers of kube-controller-manager, and a scheduler: Deployments, ReplicaSets,
DaemonSets, StatefulSets and Jobs get Pods, Pods get Nodes, Services get EndpointSlices.

Whoever runs Pods (`kapy.node_agent` on a plane, a simulation in simulated workload clusters) writes
their statuses.
"""
