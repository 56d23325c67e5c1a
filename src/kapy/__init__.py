"""Cluster API in Python: create, scale, upgrade and delete Kubernetes clusters declaratively."""

__version__ = "0.1.0"
CLUSTER_API = "v1.14.0"
"""The release of Cluster API that this release is equivalent to."""
