"""ClusterClass logic without I/O: blueprint, variables, patches, desired state, plan."""
