"""Functions that read fields of untrusted documents: a field may be missing or of any type.
Pure.
"""

from __future__ import annotations

from datetime import datetime

from kapy.clusterctl.describe.tree import condition
from kapy.kube import Document
from kapy.kube.nested import value_at


def part(document: Document, *path: str) -> Document:
    """Return the object at a path, {} if there is none."""
    value = value_at(document, path)
    return value if isinstance(value, dict) else {}


def text_at(document: Document, *path: str) -> str:
    """Return the value at a path as text, "" if there is none."""
    return str(value_at(document, path) or "")


def count_at(document: Document, *path: str) -> int:
    """Return the number at a path, 0 if there is none."""
    value = value_at(document, path)
    return value if isinstance(value, int) else 0


def name_of(document: Document) -> str:
    """Return the name of an object."""
    return text_at(document, "metadata", "name")


def annotations_of(document: Document) -> Document:
    """Return the annotations of an object, or of a part of a topology."""
    return part(document, "metadata", "annotations")


def worker_groups(cluster: Document, *kinds: str) -> list[Document]:
    """Return the worker groups of a topology. kinds: `machineDeployments`, `machinePools`."""
    workers = part(cluster, "spec", "topology", "workers")
    return [group for kind in kinds for group in workers.get(kind) or ()]


def is_true(document: Document, type_: str, status: str = "True") -> bool:
    """Report whether a condition has a status."""
    return (condition(document, type_) or {}).get("status") == status


def reason_of(document: Document, type_: str) -> str:
    """Reason and message of a condition, "" if it is not known."""
    value = condition(document, type_) or {}
    return ": ".join(filter(None, (text_at(value, name) for name in ("reason", "message"))))


def since_of(document: Document, type_: str) -> datetime | None:
    """Return the last transition of a condition, None if it is not known."""
    return moment_of((condition(document, type_) or {}).get("lastTransitionTime"))


def moment_of(text: object) -> datetime | None:
    """Read a time of the API; None if it is not one."""
    if not isinstance(text, str) or not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def without_managed_fields(document: Document) -> Document:
    """Return the object without managedFields, which are most of its text."""
    metadata = document["metadata"]
    if "managedFields" not in metadata:
        return document
    trimmed = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {**document, "metadata": trimmed}
