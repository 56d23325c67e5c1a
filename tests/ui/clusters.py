"""Clusters for tests of the pages, as documents."""

from __future__ import annotations

from typing import Any

from kapy.kube import Document

CREATED = "2026-01-01T00:00:00Z"


def condition(type_: str, status: str, reason: str = "", message: str = "") -> Document:
    """A condition."""
    return {
        "type": type_,
        "status": status,
        "reason": reason or type_,
        "message": message,
        "lastTransitionTime": CREATED,
    }


def cluster(
    name: str,
    *conditions: Document,
    namespace: str = "default",
    version: str = "v1.34.0",
    class_name: str = "meadow",
    **more: Any,
) -> Document:
    """A Cluster; `more` are fields of its metadata."""
    result = conditions or (condition("Available", "True"),)
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {
            "name": name, "namespace": namespace, "uid": name, "creationTimestamp": CREATED, **more,
        },
        "spec": {"topology": {"classRef": {"name": class_name}, "version": version}},
        "status": {
            "phase": "Provisioned",
            "initialization": {"controlPlaneInitialized": True},
            "controlPlane": {"desiredReplicas": 1, "readyReplicas": 1},
            "workers": {"desiredReplicas": 2, "readyReplicas": 2},
            "conditions": list(result),
        },
    }  # fmt: skip
