"""What the files of a provider's release are called (clusterctl provider contract, naming)."""

from __future__ import annotations


def cluster_template(flavor: str = "") -> str:
    """The cluster template of a flavour; without one, the default."""
    return f"cluster-template-{flavor}.yaml" if flavor else "cluster-template.yaml"


def cluster_class(name: str) -> str:
    """The definition of a ClusterClass."""
    return f"clusterclass-{name}.yaml"
