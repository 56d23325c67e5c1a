"""The kubeadm control plane provider: a control plane of Machines that kubeadm sets up.

A KubeadmControlPlane creates its Machines one at a time: the first runs `kubeadm init`, the others
join; it replaces them one at a time when what they were made of changes (or has an extension update
them in place), looks after etcd's membership when one goes, and reports what runs on them.
Implements the control plane contract.
"""
