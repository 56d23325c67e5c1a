"""A workload cluster that exists only in this process: its API server, its Nodes, its etcd."""
