"""The tree as one JSON document for other programs."""

from __future__ import annotations

from kapy.clusterctl.describe.tree import Node, conditions
from kapy.clusterctl.describe.waiting import wait_of
from kapy.kube import Document


def as_document(node: Node) -> Document:
    """`{"kind", "name", "namespace", "role", "conditions", "replicas", "children"}` of each node.

    A group has `items` instead of a name, a heading has a `title`. Empty fields are omitted. An
    object that is not ready has `waitsFor`: {"since", "why"}.
    """
    result: Document = {"kind": node.kind}
    if node.group is not None:
        result["items"] = node.group.items
        result["ready"] = node.group.ready
    elif node.document is None:
        result["title"] = node.title
    else:
        result |= _own(node.document)
    if node.role:
        result["role"] = node.role
    if node.children:
        result["children"] = [as_document(child) for child in node.children]
    return result


def _own(document: Document) -> Document:
    metadata = document["metadata"]
    status, spec = document.get("status") or {}, document.get("spec") or {}
    counters = {name: status[name] for name in _COUNTERS if name in status}
    if isinstance(spec.get("replicas"), int):
        counters["desiredReplicas"] = spec["replicas"]
    result: Document = {"apiVersion": document.get("apiVersion"), "name": metadata["name"]}
    if metadata.get("namespace"):
        result["namespace"] = metadata["namespace"]
    if metadata.get("deletionTimestamp"):
        result["deletionTimestamp"] = metadata["deletionTimestamp"]
    if counters:
        result["replicas"] = counters
    if conditions(document):
        result["conditions"] = conditions(document)
    if (wait := wait_of(document)) is not None:
        result["waitsFor"] = {"since": wait[0], "why": wait[1]}
    return result


_COUNTERS = ("replicas", "readyReplicas", "availableReplicas", "upToDateReplicas")
