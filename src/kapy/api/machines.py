"""Telling Machines apart: small questions that several controllers ask. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.machine import Machine
from kapy.api.names import Annotation, Label

UPDATE_MACHINE_HOOK: Final = "UpdateMachine"


def is_control_plane(machine: Machine) -> bool:
    """Whether the Machine hosts the control plane (it has the label, whatever its value)."""
    return Label.CONTROL_PLANE in machine.metadata.labels


def is_updating_in_place(machine: Machine) -> bool:
    """Whether the Machine is being changed without being replaced."""
    annotations = machine.metadata.annotations
    return Annotation.UPDATE_IN_PROGRESS in annotations or is_update_owed(annotations)


def is_update_owed(annotations: Mapping[str, str]) -> bool:
    """Whether extensions are to be asked to update a Machine with these annotations."""
    return UPDATE_MACHINE_HOOK in annotations.get(Annotation.PENDING_HOOKS, "").split(",")


def update_owed(annotations: Mapping[str, str], *, owed: bool) -> str | None:
    """The annotation of pending hooks that says so, beside all others; None when none is left."""
    listed = {*annotations.get(Annotation.PENDING_HOOKS, "").split(",")} - {"", UPDATE_MACHINE_HOOK}
    return ",".join(sorted({*listed, UPDATE_MACHINE_HOOK} if owed else listed)) or None


def is_scaled_by_others(annotations: Mapping[str, str]) -> bool:
    """Whether something outside of Cluster API says how many machines a MachinePool has."""
    value = annotations.get(Annotation.REPLICAS_MANAGED_BY)
    return value is not None and value != "false"
