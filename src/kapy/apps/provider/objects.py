"""Objects of Kubernetes, written down."""

from __future__ import annotations

from typing import Any

from kapy.kube import Document


def object_of(
    api_version: str, kind: str, name: str, namespace: str = "", /, **more: Any
) -> Document:
    """An object; more: its parts besides `metadata`."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}
