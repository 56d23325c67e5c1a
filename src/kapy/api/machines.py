"""Telling Machines apart: small questions that several controllers ask. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from kapy.api.machine import Machine
from kapy.api.names import Annotation, Label

PENDING_HOOKS = "runtime.cluster.x-k8s.io/pending-hooks"
UPDATE_MACHINE_HOOK = "UpdateMachine"


def is_control_plane(machine: Machine) -> bool:
    """Whether the Machine hosts the control plane (it has the label, whatever its value)."""
    return Label.CONTROL_PLANE in machine.metadata.labels


def is_updating_in_place(machine: Machine) -> bool:
    """Whether the Machine is being changed without being replaced."""
    annotations = machine.metadata.annotations
    if Annotation.UPDATE_IN_PROGRESS in annotations:
        return True
    return UPDATE_MACHINE_HOOK in annotations.get(PENDING_HOOKS, "").split(",")


def is_scaled_by_others(annotations: Mapping[str, str]) -> bool:
    """Whether something outside of Cluster API says how many machines a MachinePool has."""
    value = annotations.get(Annotation.REPLICAS_MANAGED_BY)
    return value is not None and value != "false"
