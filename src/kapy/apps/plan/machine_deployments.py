"""Predicts rollouts of MachineDeployments with their controller's planner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.apps.plan.in_place import updating_handlers
from kapy.apps.plan.outcome import Outcome, ReplacedMachine, Rollout, machine_count
from kapy.apps.plan.post_rollout_state import (
    PLANNED_NAME,
    planned_machine,
    rolled_out_deployment,
    template_meta,
    without_outside_finalizers,
)
from kapy.apps.plan.snapshot import Objects, name_of
from kapy.conditions.paused import is_paused
from kapy.core.machinedeployment.forecast import MAX_STEPS, Forecast, Step, forecast
from kapy.core.machineset.machines import deletion_order
from kapy.kube import Document, Key
from kapy.kube.meta import to_document
from kapy.kube.model import encode


def machine_deployments(objects: Objects, now: datetime) -> Iterator[Outcome]:
    """Predicted outcomes of all MachineDeployments that are not up to date, not paused and not
    being deleted."""
    for deployment in objects.all(MachineDeployment):
        key = Key(deployment.metadata.namespace, deployment.spec.cluster_name)
        cluster = objects.get(Cluster, key)
        if cluster is None or deployment.deleting or is_paused(deployment, cluster):
            continue
        sets = objects.controlled(MachineSet, deployment)
        theirs = {
            machine_set.metadata.name: objects.controlled(Machine, machine_set)
            for machine_set in sets
        }
        everyone = [machine for some in theirs.values() for machine in some]
        prediction = forecast(deployment, sets, everyone, now)
        after = rolled_out_deployment(deployment, prediction.sets)
        if prediction.steps or encode(after.status) != encode(deployment.status):
            yield _outcome(objects, deployment, after, prediction, theirs, now)


def _outcome(
    objects: Objects,
    deployment: MachineDeployment,
    after: MachineDeployment,
    prediction: Forecast,
    machines_by_set: Mapping[str, list[Machine]],
    now: datetime,
) -> Outcome:
    for machine_set in prediction.sets:
        machine_set.metadata.uid = machine_set.metadata.uid or f"{machine_set.key}{PLANNED_NAME}"
    steps = StepDescriptions(machines_by_set, deployment.spec.deletion.order, now)
    words = [line for step in prediction.steps for line in steps.describe(step)]
    outdated = prediction.outdated
    rollout = Rollout(
        name_of(deployment),
        [
            ReplacedMachine(name, outdated[of])
            for name, of in steps.deleted.items()
            if of in outdated
        ],
        creates=steps.created,
        deletes=[name for name, of in steps.deleted.items() if of not in outdated],
        steps=words,
        waits_for_user=prediction.waits and bool(outdated),
        in_place=updating_handlers(objects, "CanUpdateMachineSet") if prediction.may_stay else [],
    )
    leaving = (
        objects.snapshot[name_of(machine)]
        for some in machines_by_set.values()
        for machine in some
        if machine.metadata.name in steps.deleted
    )
    remaining, finished = _cleanup(prediction, now)
    new = [
        planned_machine(
            Machine(metadata=template_meta(item), spec=item.spec.template.spec), item, number, now
        )
        for item in prediction.sets
        for number in range(
            min((item.spec.replicas or 0) - steps.remaining(item.metadata.name), MAX_STEPS)
        )
    ]
    return Outcome(
        rollout,
        [*remaining, *map(to_document, (*new, after))],
        [*objects.with_owned(leaving), *finished],
    )


def _cleanup(prediction: Forecast, now: datetime) -> tuple[list[Document], list[Document]]:
    """Return the MachineSets that stay (or are held by a finalizer) and those that are deleted: a
    finished rollout keeps none without Machines.
    """
    done = all(
        (item.spec.replicas or 0) == 0 or item.metadata.name not in prediction.outdated
        for item in prediction.sets
    )
    remaining: list[Document] = []
    finished: list[Document] = []
    for machine_set in prediction.sets:
        document = to_document(machine_set)
        if machine_set.metadata.name in prediction.olds and not machine_set.spec.replicas and done:
            held = without_outside_finalizers(document, now)
            (finished if held is None else remaining).append(held or document)
        else:
            remaining.append(document)
    return remaining, finished


class StepDescriptions:
    """Tracks the Machines of MachineSets through the steps of a rollout.

    deleted: the MachineSet of each deleted Machine, by name. created: the number of new Machines.
    """

    def __init__(
        self, machines_by_set: Mapping[str, Sequence[Machine]], order: str, now: datetime
    ) -> None:
        self._there = {
            name: deletion_order(some, order, now) for name, some in machines_by_set.items()
        }
        self.deleted: dict[str, str] = {}
        self.created = 0

    def describe(self, step: Step) -> Iterator[str]:
        """Describe a step in words."""
        for name, (before, after) in step.scale.items():
            if after > before:
                self.created += after - before
                created = machine_count(after - before)
                yield f"create {created} in MachineSet {name} ({before} → {after})"
            else:
                names = [self._next(name) for _ in range(before - after)]
                yield f"delete {', '.join(names)} of MachineSet {name} ({before} → {after})"

    def remaining(self, name: str) -> int:
        """Return the number of existing Machines that stay in a set."""
        return len(self._there.get(name, ()))

    def _next(self, name: str) -> str:
        there = self._there.get(name)
        if not there:
            return "a new Machine"
        machine = there.pop(0)
        self.deleted[machine.metadata.name] = name
        return f"Machine {machine.metadata.name}"
