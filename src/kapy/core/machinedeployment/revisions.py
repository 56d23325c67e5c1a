"""Classify MachineSets by template, and number their revisions (pure functions)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation
from kapy.api.template_changes import (
    AFTER_EXPIRED,
    BadRevision,
    Difference,
    creation_time,
    difference,
    revision_of,
    rollout_after_expired,
)
from kapy.api.times import moment

NONE_EXIST = "no MachineSets exist for the MachineDeployment"


@dataclass(frozen=True, slots=True)
class ClassifiedSets:
    """The MachineSets of a MachineDeployment, classified by template. new: the set with the current
    template, or None. old: all other sets. differences: the difference of each old set from the
    current template. because: the reason for which a new set must be created (empty if there is
    one).
    """

    new: MachineSet | None
    old: list[MachineSet]
    differences: Mapping[str, Difference]
    because: str = ""


def classify_sets(
    deployment: MachineDeployment, machine_sets: Sequence[MachineSet], now: datetime
) -> ClassifiedSets:
    """Find the set with the current template; after `spec.rollout.after`, only one created since
    then. Of several, the one with the most replicas (then the oldest) wins: fewest changes.
    """
    if not machine_sets:
        return ClassifiedSets(None, [], {}, NONE_EXIST)
    matching: list[MachineSet] = []
    old: list[MachineSet] = []
    differences: dict[str, Difference] = {}
    reasons: list[str] = []
    for machine_set in sorted(machine_sets, key=_most_replicas_first):
        result = difference(machine_set.spec.template, deployment.spec.template)
        if result.up_to_date:
            matching.append(machine_set)
        else:
            if rollout_after_expired(deployment, machine_set, now):
                logs = (*result.log_messages, AFTER_EXPIRED)
                result = replace(result, log_messages=logs, eligible_for_in_place_update=False)
            old.append(machine_set)
            reason = ", ".join(result.log_messages)
            reasons.append(f"MachineSet {machine_set.metadata.name} needs rollout: {reason}")
        differences[machine_set.metadata.name] = result
    if not matching:
        reason = "couldn't find MachineSet matching MachineDeployment spec template: "
        return ClassifiedSets(None, old, differences, reason + "; ".join(reasons))
    new = _current(deployment, matching, now)
    old += [item for item in matching if item is not new]
    if new is None:
        reason = f"spec.rollout.after on MachineDeployment set to {deployment.spec.rollout.after}, "
        return ClassifiedSets(
            None, old, differences, reason + "no MachineSet has been created afterwards"
        )
    return ClassifiedSets(new, old, differences)


def _current(
    deployment: MachineDeployment, matching: Sequence[MachineSet], now: datetime
) -> MachineSet | None:
    after = deployment.spec.rollout.after
    if after is None or now < moment(after):
        return matching[0]
    return next(
        (machine_set for machine_set in matching if creation_time(machine_set) >= moment(after)),
        None,
    )


def _most_replicas_first(machine_set: MachineSet) -> tuple[float, datetime, str]:
    count = machine_set.spec.replicas
    size = float("inf") if count is None else -count
    return size, creation_time(machine_set), machine_set.metadata.name


def newest_revision(machine_sets: Iterable[MachineSet]) -> int:
    """Return the highest revision among the sets; invalid numbers are ignored."""
    return max((_readable_revision(machine_set) for machine_set in machine_sets), default=0)


def _readable_revision(machine_set: MachineSet) -> int:
    try:
        return revision_of(machine_set)
    except BadRevision:
        return 0


def revision_annotations(
    new: MachineSet | None, old: Sequence[MachineSet]
) -> tuple[dict[str, str], str]:
    """Return the annotations that number the new set above all old ones, and its revision.

    A revision never decreases; former revisions of the set are kept in its history. Raises
    BadRevision if the set's revision is no number.
    """
    revision = str(newest_revision(old) + 1)
    annotations: dict[str, str] = {}
    if new is not None:
        current = new.metadata.annotations.get(Annotation.REVISION)
        history = new.metadata.annotations.get(Annotation.REVISION_HISTORY)
        if current is not None and int(revision) < revision_of(new):
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
    """Return the unchanged revision and history of an old set."""
    names = (Annotation.REVISION, Annotation.REVISION_HISTORY)
    annotations = old.metadata.annotations
    return {name: annotations[name] for name in names if name in annotations}
