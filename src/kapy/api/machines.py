"""Predicates about Machines that several controllers share. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.machine import Machine
from kapy.api.names import Annotation, Label

UPDATE_MACHINE_HOOK: Final = "UpdateMachine"


def is_control_plane(machine: Machine) -> bool:
    """Report whether the Machine has the control plane label, with any value."""
    return Label.CONTROL_PLANE in machine.metadata.labels


def is_updating_in_place(machine: Machine) -> bool:
    """Report whether the Machine is being updated in place."""
    annotations = machine.metadata.annotations
    return Annotation.UPDATE_IN_PROGRESS in annotations or is_update_pending(annotations)


def is_update_pending(annotations: Mapping[str, str]) -> bool:
    """Report whether the hook UpdateMachine is pending for a Machine with these annotations."""
    return UPDATE_MACHINE_HOOK in annotations.get(Annotation.PENDING_HOOKS, "").split(",")


def pending_hooks_annotation(annotations: Mapping[str, str], *, owed: bool) -> str | None:
    """Return the value of the annotation of pending hooks with or without that hook; None if no
    hook remains.
    """
    listed = {*annotations.get(Annotation.PENDING_HOOKS, "").split(",")} - {"", UPDATE_MACHINE_HOOK}
    return ",".join(sorted({*listed, UPDATE_MACHINE_HOOK} if owed else listed)) or None


def is_externally_scaled(annotations: Mapping[str, str]) -> bool:
    """Report whether an external autoscaler sets the replicas of a MachinePool."""
    value = annotations.get(Annotation.REPLICAS_MANAGED_BY)
    return value is not None and value != "false"
