"""Predicts the deletions that follow from a deleted object."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kapy.api.machine import Machine
from kapy.api.machine_set import MachineSet
from kapy.apps.plan.objects import Objects, kind_of
from kapy.apps.plan.outcome import Outcome, Rollout
from kapy.apps.plan.post_rollout_state import without_outside_finalizers
from kapy.kube import Document
from kapy.kube.names import GroupKind, split_api_version


def deletions(objects: Objects, now: datetime) -> Iterator[Outcome]:
    """The outcome of every deleted object: its Machines and all garbage-collected dependents are
    deleted, too."""
    for name, document in objects.snapshot.items():
        if "deletionTimestamp" not in document["metadata"]:
            continue
        after = without_outside_finalizers(document, now)
        if after is not None and after["metadata"] == document["metadata"]:
            continue  # its finalizers belong to controllers in the sandbox
        everything = objects.with_owned([document])
        machines = sorted(
            element["metadata"]["name"] for element in everything if _is_machine(element)
        )
        rollout = Rollout(
            name, deletes=machines, steps=[f"delete Machine {machine}" for machine in machines]
        )
        held = [] if after is None else [after]
        removal = list[Document]()
        for item in everything:
            if item is document:
                removal += [item] if after is None else []
            elif (stays := without_outside_finalizers(item, now)) is not None:
                held.append(stays)  # its finalizer's controller deletes dependent templates
            else:
                removal.append(item)
        listed = [
            element
            for element in removal
            if element is not document and not _is_of_machines(element)
        ]
        yield Outcome(rollout, held, removal, listed)


def _is_machine(document: Document) -> bool:
    group, _ = split_api_version(document["apiVersion"])
    return GroupKind(group, document["kind"]) == MACHINES


def _is_of_machines(document: Document) -> bool:
    """Return whether it is a Machine, a set of Machines, or an object that was created for one."""
    owners = document["metadata"].get("ownerReferences") or ()
    return document["kind"] in _MACHINES or any(owner["kind"] in _MACHINES for owner in owners)


MACHINES: Final = kind_of(Machine)
_MACHINES: Final = (Machine.RESOURCE.kind, MachineSet.RESOURCE.kind)
