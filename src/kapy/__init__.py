"""Cluster API in Python: create, scale, upgrade and delete Kubernetes clusters declaratively."""

__version__ = "0.1.0"
