"""A simulated workload cluster: its API server, its Nodes, its etcd."""
