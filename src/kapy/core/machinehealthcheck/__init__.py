"""MachineHealthCheck: find unhealthy Machines and have them remediated.

This controller checks Machines and their Nodes, reports the health on each Machine
(`HealthCheckSucceeded`), and asks its owner to replace an unhealthy one (`OwnerRemediated`) or
creates a request for external remediation; never for more Machines than
`spec.remediation.triggerIf` allows. It deletes no Machine itself.
"""
