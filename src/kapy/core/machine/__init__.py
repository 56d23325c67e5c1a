"""Machine: one host that becomes a Node of a workload cluster.

This controller connects bootstrap data and infrastructure, waits for the Node, syncs labels,
annotations and taints to it, and reports progress in conditions. A Machine is deleted step by step
(`deletion`), each after its predecessors have finished.
"""
