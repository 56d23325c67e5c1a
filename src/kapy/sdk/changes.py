"""Predicates and indexes for changes around providers' objects (pure functions)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapy.api.names import ConditionType, Label
from kapy.engine.cache import Change
from kapy.kube import Document, Key


def machine_spec_of(owner: Document) -> Document:
    """Return the machine spec of an owner: the spec of a Machine, or that in the template of a
    MachinePool.
    """
    spec: Document = owner.get("spec") or {}
    result: Document = (spec["template"].get("spec") or {}) if "template" in spec else spec
    return result


def is_update(change: Change, part: Any) -> bool:
    """Return whether an object was updated without a change of one part. part: returns that part of
    the object.
    """
    if change.old is None or change.new is None:
        return False
    return bool(part(change.old) == part(change.new))


def desired_state(machine: Document) -> Any:
    """Return the desired state of a Machine or MachinePool, including deletion."""
    metadata = machine["metadata"]
    return machine.get("spec"), metadata.get("labels"), metadata.get("deletionTimestamp")


def start_conditions(cluster: Document) -> Any:
    """Return the fields of a Cluster that start or pause its machines."""
    status = cluster.get("status") or {}
    initialized = next(
        (
            condition["status"]
            for condition in status.get("conditions") or ()
            if condition["type"] == ConditionType.CONTROL_PLANE_INITIALIZED
        ),
        "",
    )
    provisioned = (status.get("initialization") or {}).get("infrastructureProvisioned")
    return (cluster.get("spec") or {}).get("paused"), provisioned, initialized


def cluster_of(document: Document) -> Iterable[str]:
    """Index an object by the Cluster that its label names."""
    metadata = document["metadata"]
    name = (metadata.get("labels") or {}).get(Label.CLUSTER_NAME)
    return (str(Key(metadata["namespace"], name)),) if name else ()
