"""Forecast a rollout step by step, assuming that every Machine becomes available (pure functions).

It uses the controller's planner: each plan is executed on copies of the sets, and the planner is
called again until nothing is left to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.template_changes import AFTER_EXPIRED, rollout_after_expired
from kapy.api.times import stamp
from kapy.core.machinedeployment.desired import new_set, template_hash, update_set
from kapy.core.machinedeployment.revisions import ClassifiedSets, classify_sets, newest_revision
from kapy.core.machinedeployment.rollout import ON_DELETE, Rollout, number_new, strategy_of
from kapy.core.machinedeployment.strategies import (
    plan_on_delete,
    plan_rolling_update,
    proportional_scale,
)
from kapy.kube.model import copy_model

MAX_STEPS: Final = 1_000
"""The number of steps that are reported one by one; all further steps are reported as one."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a forecast rollout. scale: the replicas of each changed MachineSet before and
    after the step. notes: the reasons for the changes.
    """

    scale: Mapping[str, tuple[int, int]]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Forecast:
    """The forecast of a rollout: its steps and its result.

    creates: the name of the new MachineSet, "" for none. olds: the names of the sets with an old
    template. outdated: the reasons for which a set's Machines are replaced, by the name of the set.
    may_stay: whether some Machines could be updated in place instead. waits: whether old Machines
    are replaced only after a user deletes them (OnDelete). sets: the MachineSets at the end of the
    rollout.
    """

    creates: str = ""
    olds: frozenset[str] = frozenset()
    outdated: dict[str, tuple[str, ...]] = field(default_factory=dict)
    may_stay: bool = False
    waits: bool = False
    steps: list[Step] = field(default_factory=list)
    sets: list[MachineSet] = field(default_factory=list)


def forecast(
    deployment: MachineDeployment,
    sets: Sequence[MachineSet],
    machines: Sequence[Machine],
    now: datetime,
) -> Forecast:
    """Return all steps from `sets` to the end. The given objects are not changed."""
    deployment, sets = copy_model(deployment), [copy_model(machine_set) for machine_set in sets]
    sets_by_template = classify_sets(deployment, sets, now)
    prediction = Forecast(
        olds=frozenset(machine_set.metadata.name for machine_set in sets_by_template.old),
        outdated={
            machine_set.metadata.name: reason
            for machine_set in sets_by_template.old
            if machine_set.spec.replicas
            and (reason := _reasons(deployment, machine_set, sets_by_template, now))
        },
        waits=strategy_of(deployment).type == ON_DELETE,
    )
    prediction.may_stay = not prediction.waits and any(
        sets_by_template.differences[name].eligible_for_in_place_update
        for name in prediction.outdated
    )
    for _ in range(MAX_STEPS):
        step, sets = _step(deployment, sets, machines, now, prediction)
        if step is None:
            break
        prediction.steps.append(step)
    else:
        prediction.steps += _remaining_steps(deployment, sets, now)
    prediction.sets = list(sets)
    return prediction


def _reasons(
    deployment: MachineDeployment,
    machine_set: MachineSet,
    sets_by_template: ClassifiedSets,
    now: datetime,
) -> tuple[str, ...]:
    """Return why the Machines of a set are replaced."""
    difference = sets_by_template.differences[machine_set.metadata.name]
    if not difference.up_to_date:
        return difference.condition_messages or difference.log_messages
    return (AFTER_EXPIRED,) if rollout_after_expired(deployment, machine_set, now) else ()


def _remaining_steps(
    deployment: MachineDeployment, sets: Sequence[MachineSet], now: datetime
) -> Sequence[Step]:
    """Return the steps at the end of a long rollout as one step: a plan moves few Machines per
    step.
    """
    new = classify_sets(deployment, sets, now).new
    if new is None:
        return ()
    scale = {machine_set.metadata.name: 0 for machine_set in sets if machine_set is not new}
    step = _apply_scale(sets, {**scale, new.metadata.name: deployment.spec.replicas or 0})
    return () if step is None else [Step(step)]


def _step(
    deployment: MachineDeployment,
    sets: list[MachineSet],
    machines: Sequence[Machine],
    now: datetime,
    prediction: Forecast,
) -> tuple[Step | None, list[MachineSet]]:
    sets_by_template = classify_sets(deployment, sets, now)
    old = [update_set(deployment, machine_set, old=True) for machine_set in sets_by_template.old]
    new = _new(deployment, sets_by_template, {machine_set.metadata.name for machine_set in sets})
    if new is None:
        return _paused_step(deployment, None, old), old
    if sets_by_template.new is None:
        prediction.creates = new.metadata.name
        new.metadata.creation_timestamp = stamp(now)
    if deployment.spec.paused:
        return _paused_step(deployment, new, old), [new, *old]
    rollout = Rollout(deployment, new, old, machines, sets_by_template.differences)
    number_new(rollout, sets_by_template.new, sets_by_template.old)
    if prediction.waits:
        plan_on_delete(rollout)
    else:
        plan_rolling_update(rollout)
    step = _apply_scale(rollout.all_sets, rollout.scale)
    notes = tuple(f"{name}: {reason}" for name, some in rollout.notes.items() for reason in some)
    return (None if step is None else Step(step, notes)), [new, *rollout.old]


def _new(
    deployment: MachineDeployment, sets_by_template: ClassifiedSets, names: set[str]
) -> MachineSet | None:
    if sets_by_template.new is not None:
        return update_set(deployment, sets_by_template.new, old=False)
    if deployment.spec.paused:
        return None
    slot = (
        newest_revision(sets_by_template.old) + 1,
        template_hash(deployment),
        deployment.spec.rollout.after,
    )
    attempt = 0
    while (machine_set := new_set(deployment, *slot, attempt)).metadata.name in names:
        attempt += 1
    return machine_set


def _paused_step(
    deployment: MachineDeployment, new: MachineSet | None, old: list[MachineSet]
) -> Step | None:
    sets = [*old, *([] if new is None else [new])]
    step = _apply_scale(sets, proportional_scale(deployment, new, old))
    return None if step is None else Step(step)


def _apply_scale(
    sets: Sequence[MachineSet], scale: Mapping[str, int]
) -> dict[str, tuple[int, int]] | None:
    """Execute one plan on the sets, as if Machines were created, deleted and available at once.
    Return the replicas of each changed set before and after that, None if nothing changes.
    """
    step = {}
    for machine_set in sets:
        before = machine_set.spec.replicas or 0
        after = scale.get(machine_set.metadata.name, before)
        if after != before:
            step[machine_set.metadata.name] = before, after
        machine_set.spec.replicas = after
        status = machine_set.status
        status.replicas = status.ready_replicas = status.available_replicas = after
        status.up_to_date_replicas = after
    return step or None
