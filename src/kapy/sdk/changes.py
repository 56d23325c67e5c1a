"""What of a change matters to the objects of providers, and whose it is. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapy.api.names import ConditionType, Label
from kapy.engine.cache import Change
from kapy.kube import Document, Key


def machine_template(owner: Document) -> Document:
    """What machines look like: a Machine's own spec, or what a pool has for all of its machines."""
    spec: Document = owner.get("spec") or {}
    found: Document = (spec["template"].get("spec") or {}) if "template" in spec else spec
    return found


def is_update(change: Change, seen: Any) -> bool:
    """Whether an object was written without a change of what is `seen` of it."""
    if change.old is None or change.new is None:
        return False
    return bool(seen(change.old) == seen(change.new))


def wishes(machine: Document) -> Any:
    """What a Machine or MachinePool should be, and whether it should be at all."""
    metadata = machine["metadata"]
    return machine.get("spec"), metadata.get("labels"), metadata.get("deletionTimestamp")


def gates(cluster: Document) -> Any:
    """What of a Cluster lets its machines start, or stops everything."""
    status = cluster.get("status") or {}
    initialized = next(
        (
            one["status"]
            for one in status.get("conditions") or ()
            if one["type"] == ConditionType.CONTROL_PLANE_INITIALIZED
        ),
        "",
    )
    provisioned = (status.get("initialization") or {}).get("infrastructureProvisioned")
    return (cluster.get("spec") or {}).get("paused"), provisioned, initialized


def cluster_of(document: Document) -> Iterable[str]:
    """An index: by the Cluster that the object's label names."""
    metadata = document["metadata"]
    name = (metadata.get("labels") or {}).get(Label.CLUSTER_NAME)
    return (str(Key(metadata["namespace"], name)),) if name else ()
