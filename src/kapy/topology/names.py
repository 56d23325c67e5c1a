"""What the names of objects begin with that are made of a ClusterClass; five characters follow."""

from __future__ import annotations


def worker_prefix(cluster: str, topology: str) -> str:
    """Of templates and objects of a group of worker machines; topology: what the Cluster calls
    the group."""
    return f"{cluster}-{topology}-"


def control_plane_prefix(cluster: str) -> str:
    """Of the template of the control plane's machines."""
    return f"{cluster}-"
