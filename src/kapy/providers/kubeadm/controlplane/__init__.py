"""The kubeadm control plane provider: control planes of Machines that kubeadm sets up.

The controller creates the Machines of a KubeadmControlPlane one at a time: the first runs `kubeadm
init`, the others join. If their configuration changes, it replaces them one at a time, or has an
extension update them in place. It removes the etcd member of a Machine before the Machine is shut
down, and reports the health of the components. Implements the control plane contract.
"""
