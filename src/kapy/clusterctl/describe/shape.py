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
    found: Document = {"kind": node.kind}
    if node.group is not None:
        found["items"] = node.group.items
        found["ready"] = node.group.ready
    elif node.document is None:
        found["title"] = node.title
    else:
        found |= _own(node.document)
    if node.role:
        found["role"] = node.role
    if node.children:
        found["children"] = [as_document(child) for child in node.children]
    return found


def _own(document: Document) -> Document:
    metadata = document["metadata"]
    status, spec = document.get("status") or {}, document.get("spec") or {}
    counters = {name: status[name] for name in _COUNTERS if name in status}
    if isinstance(spec.get("replicas"), int):
        counters["desiredReplicas"] = spec["replicas"]
    found: Document = {"apiVersion": document.get("apiVersion"), "name": metadata["name"]}
    if metadata.get("namespace"):
        found["namespace"] = metadata["namespace"]
    if metadata.get("deletionTimestamp"):
        found["deletionTimestamp"] = metadata["deletionTimestamp"]
    if counters:
        found["replicas"] = counters
    if conditions(document):
        found["conditions"] = conditions(document)
    if (wait := wait_of(document)) is not None:
        found["waitsFor"] = {"since": wait[0], "why": wait[1]}
    return found


_COUNTERS = ("replicas", "readyReplicas", "availableReplicas", "upToDateReplicas")
