"""Which MachineSet serves a MachineDeployment's template, and which revision each one is. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation
from kapy.api.template_changes import (
    AFTER_EXPIRED,
    Difference,
    difference,
    made,
    revision_of,
    rollout_after_expired,
)
from kapy.api.times import moment

NONE_EXIST = "no MachineSets exist for the MachineDeployment"


@dataclass(frozen=True, slots=True)
class Sorted:
    """new: the set that serves the template now, or None. old: all others. differences: per set,
    how it differs. because: why a new set must be made (empty when there is one)."""

    new: MachineSet | None
    old: list[MachineSet]
    differences: Mapping[str, Difference]
    because: str = ""


def sort_sets(
    deployment: MachineDeployment, machine_sets: Sequence[MachineSet], now: datetime
) -> Sorted:
    """Find the set that serves the template; after `spec.rollout.after`, only one made since then
    will do. Of several, the one with most replicas (then the oldest) is taken: fewest changes."""
    if not machine_sets:
        return Sorted(None, [], {}, NONE_EXIST)
    matching: list[MachineSet] = []
    old: list[MachineSet] = []
    differences: dict[str, Difference] = {}
    reasons: list[str] = []
    for one in sorted(machine_sets, key=_most_replicas_first):
        found = difference(one.spec.template, deployment.spec.template)
        if found.up_to_date:
            matching.append(one)
        else:
            if rollout_after_expired(deployment, one, now):
                logs = (*found.log_messages, AFTER_EXPIRED)
                found = replace(found, log_messages=logs, eligible_for_in_place_update=False)
            old.append(one)
            why = ", ".join(found.log_messages)
            reasons.append(f"MachineSet {one.metadata.name} needs rollout: {why}")
        differences[one.metadata.name] = found
    if not matching:
        why = "couldn't find MachineSet matching MachineDeployment spec template: "
        return Sorted(None, old, differences, why + "; ".join(reasons))
    new = _current(deployment, matching, now)
    old += [one for one in matching if one is not new]
    if new is None:
        why = f"spec.rollout.after on MachineDeployment set to {deployment.spec.rollout.after}, "
        return Sorted(None, old, differences, why + "no MachineSet has been created afterwards")
    return Sorted(new, old, differences)


def _current(
    deployment: MachineDeployment, matching: Sequence[MachineSet], now: datetime
) -> MachineSet | None:
    after = deployment.spec.rollout.after
    if after is None or now < moment(after):
        return matching[0]
    return next((one for one in matching if made(one) >= moment(after)), None)


def _most_replicas_first(machine_set: MachineSet) -> tuple[float, datetime, str]:
    count = machine_set.spec.replicas
    size = float("inf") if count is None else -count
    return size, made(machine_set), machine_set.metadata.name


def newest_revision(machine_sets: Iterable[MachineSet]) -> int:
    """The highest revision among the sets; what is not a number does not count."""
    return max((_readable_revision(one) for one in machine_sets), default=0)


def _readable_revision(machine_set: MachineSet) -> int:
    try:
        return revision_of(machine_set)
    except ValueError:
        return 0


def revision_annotations(
    new: MachineSet | None, old: Sequence[MachineSet]
) -> tuple[dict[str, str], str]:
    """The annotations that number the new set above all old ones, and its revision.

    A revision never decreases; those that the set had before are kept in its history. Raises
    ValueError when the set's revision is not a number.
    """
    revision = str(newest_revision(old) + 1)
    annotations: dict[str, str] = {}
    if new is not None:
        current = new.metadata.annotations.get(Annotation.REVISION)
        history = new.metadata.annotations.get(Annotation.REVISION_HISTORY)
        if current is not None and int(revision) < int(current):
            revision = current
        if history is not None:
            annotations[Annotation.REVISION_HISTORY] = history
        if current is not None and current != revision:
            annotations[Annotation.REVISION_HISTORY] = (
                f"{history},{current}" if history else current
            )
    annotations[Annotation.REVISION] = revision
    return annotations, revision


def kept_revision_annotations(old: MachineSet) -> dict[str, str]:
    """The revision and history of an old set, which stay as they are."""
    names = (Annotation.REVISION, Annotation.REVISION_HISTORY)
    annotations = old.metadata.annotations
    return {name: annotations[name] for name in names if name in annotations}
