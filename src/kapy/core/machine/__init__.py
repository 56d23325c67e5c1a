"""Machine: one host that becomes a Node of a workload cluster.

This controller hands the bootstrap data and the infrastructure to each other, waits for the Node,
keeps its labels, annotations and taints as the Machine wants them, and tells in conditions how far
all of it is. A Machine goes step by step (`deletion`), and never before what it still holds is
gone.
"""
