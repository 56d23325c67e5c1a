"""MachineHealthCheck: which Machines are unhealthy, and what happens to them.

This controller looks at Machines and at their Nodes in the workload cluster, says on each Machine
how it fares (`HealthCheckSucceeded`), and asks its owner to replace an unhealthy one
(`OwnerRemediated`) or creates a request for somebody else to remedy it; never more of them than
`spec.remediation.triggerIf` allows. It deletes no Machine itself.
"""
