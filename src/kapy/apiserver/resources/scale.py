"""The Scale of an object: derived from the object, and written back to it."""

from __future__ import annotations

from typing import Any

from kapy.apiserver.errors import StorageFailure, failure_status
from kapy.apiserver.resources.kind import Kind
from kapy.kube import Document
from kapy.kube.schema.scale import value_at
from kapy.kube.selectors import selector_of

BUILT_IN_PATHS: Document = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
}


def set_replicas(kind: Kind, document: Document, scale: Document) -> Document:
    """Return the object with the replicas of its Scale."""
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    return set_path(document, (kind.scale or BUILT_IN_PATHS)["specReplicasPath"], replicas)


def scale_of(kind: Kind, document: Document) -> Document:
    """Return the Scale of an object of a kind. Raises StorageFailure if it has no replicas."""
    meta = document["metadata"]
    paths = kind.scale or BUILT_IN_PATHS
    replicas = get_path(document, paths["specReplicasPath"], int)
    if replicas is None:
        why = f'the spec replicas field "{paths["specReplicasPath"]}" does not exist'
        causes = [{"message": why}]
        raise StorageFailure(f"Internal error occurred: {why}", details={"causes": causes})
    status: Document = {"replicas": get_path(document, paths["statusReplicasPath"], int) or 0}
    selector = _selector(kind, document)
    if selector:
        status["selector"] = selector
    copied_fields = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta[key] for key in copied_fields if key in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _selector(kind: Kind, document: Document) -> str:
    if kind.scale is None:
        selector = (document.get("spec") or {}).get("selector")
        return str(selector_of(selector)) if selector else ""
    path = kind.scale.get("labelSelectorPath")
    return str(get_path(document, path, str) or "") if path else ""


def get_path(document: Document, path: str, wanted: type) -> Any:
    """Return the value at a path, None if it is not set.

    Raises StorageFailure if the value or one of its parents has a wrong type: objects converted by
    a webhook are not validated.
    """
    value, problem = value_at(document, path, wanted)
    if problem:
        raise StorageFailure(problem, status=failure_status(problem))
    return value


def set_path(document: Document, path: str, value: Any) -> Document:
    """Return the document with the value at a path replaced; everything else is shared."""
    head, _, rest = path.lstrip(".").partition(".")
    if not rest:
        return {**document, head: value}
    return {**document, head: set_path(document.get(head) or {}, rest, value)}
