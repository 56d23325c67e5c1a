"""The kubeadm bootstrap provider: generates the boot data of a KubeadmConfig.

A KubeadmConfig is owned by a Machine. Once the cluster's infrastructure is ready, the controller
writes a Secret with the config's name and cloud-init user data: `kubeadm init` for exactly one
control plane machine (guarded by a lock), `kubeadm join` for all others, after the control plane is
initialized. Bootstrap tokens are stored in the workload cluster and renewed until the machine's
Node has joined. Implements the bootstrap contract.
"""
