"""The kubeadm bootstrap provider: turns a KubeadmConfig into the data that a machine boots with.

A KubeadmConfig is owned by a Machine. Once the cluster's infrastructure stands, the controller
writes a Secret of the config's name with cloud-init user data: `kubeadm init` for exactly one
control plane machine (a lock makes sure), `kubeadm join` for every other, after the control plane
answers. Bootstrap tokens live in the workload cluster and are kept fresh until the machine's node
has joined. Implements the bootstrap contract.
"""
