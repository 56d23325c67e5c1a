"""Constructors of Kubernetes objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapy.api.names import Label
from kapy.kube import Document


def object_of(
    api_version: str, kind: str, name: str, namespace: str = "", /, **more: Any
) -> Document:
    """Return a Kubernetes object as a document. more: the fields besides `metadata`."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


def with_labels(document: Document, labels: Mapping[str, str]) -> Document:
    """Return the object with additional labels."""
    metadata = document["metadata"]
    return {
        **document,
        "metadata": {**metadata, "labels": {**metadata.get("labels", {}), **labels}},
    }


def of_provider(document: Document, label: str) -> Document:
    """Return the object, marked as a part of a provider (contract: clusterctl, "Labels")."""
    return with_labels(document, {Label.PROVIDER: label})
