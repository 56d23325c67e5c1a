"""The kubeadm providers: bootstrap (KubeadmConfig) and control plane (KubeadmControlPlane)."""
