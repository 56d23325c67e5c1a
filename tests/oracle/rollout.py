"""Topic `rollout`: how a MachineDeployment plans its steps, and which Machines go first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from kapy.api.machine import Machine, MachineTemplateSpec
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation
from kapy.api.template_changes import Difference, difference
from kapy.api.times import moment, stamp
from kapy.core.machinedeployment.revisions import classify_sets
from kapy.core.machinedeployment.rollout import (
    BadStrategy,
    Rollout,
    fenceposts,
    max_surge,
    max_unavailable,
    new_replicas,
    number_new,
)
from kapy.core.machinedeployment.strategies import plan_on_delete, plan_rolling_update, proportion
from kapy.core.machineset.machines import deletion_order, is_healthy
from kapy.kube.int_or_percent import InvalidIntOrPercent
from kapy.kube.meta import O, read
from tests.oracle.topic import Check, Record, compared

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
REFERENCE = {"apiGroup": "g.example.com", "kind": "Nothing", "name": "nothing"}


def complete(template: Record) -> Record:
    """A recorded machine template with the fields that upstream's Go types need not have."""
    spec = {"clusterName": "c", "bootstrap": {}, "infrastructureRef": REFERENCE}
    return {**template, "spec": {**spec, **template.get("spec", {})}}


def typed(kind: type[O], record: Record) -> O:
    """A recorded object as ours, filled up with what admission would have required."""
    spec = dict(record.get("spec", {}))
    if kind is Machine:
        spec = complete({"spec": spec})["spec"]
    else:
        spec = {"clusterName": "c", "selector": {}, **spec}
        spec["template"] = complete(spec.get("template", {}))
    return read({"metadata": {}, "status": {}, **record, "spec": spec}, kind)


def deployment(
    replicas: int, surge: Any, unavailable: Any = 0, strategy: str = "RollingUpdate"
) -> MachineDeployment:
    update = {"maxSurge": surge, "maxUnavailable": unavailable}
    rollout = {"strategy": {"type": strategy, "rollingUpdate": update}}
    return typed(MachineDeployment, {"spec": {"replicas": replicas, "rollout": rollout}})


def plan(record: Record) -> Iterator[str]:
    md = typed(MachineDeployment, record["machineDeployment"])
    sets = [typed(MachineSet, machine_set) for machine_set in record["machineSets"]]
    before = record["desiredBeforePlan"]
    classified_sets = classify_sets(md, sets, NOW)
    if classified_sets.new is not None:
        yield from compared(
            record["newMachineSet"], classified_sets.new.metadata.name, "newMachineSet"
        )
    new = typed(MachineSet, before["newMS"])
    old = [typed(MachineSet, item) for item in before["oldMSs"] or []]
    names = sorted(machine_set.metadata.name for machine_set in classified_sets.old)
    yield from compared(sorted(record["oldMachineSets"] or []), names, "oldMachineSets")
    yield from compared(
        record["upToDateResults"] or {}, results(classified_sets.differences), "upToDateResults"
    )
    rollout = Rollout(
        md,
        new,
        old,
        [typed(Machine, item) for item in record["machines"] or []],
        classified_sets.differences,
        record["canUpdateMachineSetInPlace"] or {},
        acknowledged_by(record["machineSets"], new.metadata.name),
    )
    if classified_sets.new is not None:
        number_new(rollout, classified_sets.new, classified_sets.old)
    if record["strategy"] == "OnDelete":
        plan_on_delete(rollout)
    else:
        plan_rolling_update(rollout)
    yield from compared(record["scaleIntents"] or {}, rollout.scale, "scaleIntents")
    yield from compared(record["notes"] or {}, rollout.notes, "notes")
    after = {
        machine_set.metadata.name: machine_set.metadata.annotations
        for machine_set in (rollout.new, *rollout.old)
        if machine_set.metadata.annotations
    }
    recorded = {name: value for name, value in (record["annotationsAfter"] or {}).items() if value}
    yield from compared(recorded, after, "annotationsAfter")


def acknowledged_by(sets: Iterable[Record], name: str) -> frozenset[str]:
    for machine_set in sets:
        if machine_set["metadata"]["name"] == name:
            annotations = machine_set["metadata"].get("annotations") or {}
            names = annotations.get(Annotation.ACKNOWLEDGED_MOVE, "")
            return frozenset(filter(None, names.split(",")))
    return frozenset()


def results(differences: Any) -> Record:
    return {name: result(value) for name, value in differences.items()}


def result(value: Difference) -> Record:
    return {
        "conditionMessages": list(value.condition_messages) or None,
        "eligibleForInPlaceUpdate": value.eligible_for_in_place_update,
        "logMessages": list(value.log_messages) or None,
    }


def check_fenceposts(record: Record) -> Iterator[str]:
    surge, unavailable = record["maxSurge"], record["maxUnavailable"]
    try:
        result = fenceposts(surge, unavailable, record["desired"])
    except (InvalidIntOrPercent, BadStrategy) as error:
        yield from compared(record.get("error"), str(error), "error")
        return
    yield from compared([record["surge"], record["unavailable"]], list(result))
    md = deployment(record["desired"], surge, unavailable)
    recorded = [record["MaxSurge"], record["MaxUnavailable"]]
    yield from compared(recorded, [max_surge(md), max_unavailable(md)])


def check_new_replicas(record: Record) -> Iterator[str]:
    md = deployment(record["replicas"], record["maxSurge"], strategy=record["strategy"])
    sets = [typed(MachineSet, machine_set) for machine_set in record["machineSets"]]
    try:
        count, note = new_replicas(md, sets, record["newMSReplicas"])
    except (InvalidIntOrPercent, BadStrategy) as error:
        yield from compared(record.get("error"), str(error), "error")
        return
    yield from compared([record["out"], record["note"]], [count, note])


def check_proportion(record: Record) -> Iterator[str]:
    md = deployment(record["replicas"], record["maxSurge"])
    md.status.replicas = record["statusReplicas"]
    metadata = {"annotations": record.get("msAnnotations") or {}}
    machine_set = typed(
        MachineSet, {"metadata": metadata, "spec": {"replicas": record["msReplicas"]}}
    )
    yield from compared(
        record["out"], proportion(machine_set, md, record["toAdd"], record["added"])
    )


def check_template(record: Record) -> Iterator[str]:
    current, desired = (
        typed(MachineSet, {"spec": {"template": record[name]}}).spec.template
        for name in ("current", "desired")
    )
    assert isinstance(current, MachineTemplateSpec)
    value = difference(current, desired)
    yield from compared(record["upToDate"], value.up_to_date, "upToDate")
    yield from compared({name: record[name] for name in result(value)}, result(value))


def check_sorted(record: Record) -> Iterator[str]:
    md = typed(MachineDeployment, record["machineDeployment"])
    sets = [typed(MachineSet, machine_set) for machine_set in record["machineSets"] or []]
    classified_sets = classify_sets(md, sets, moment(record["now"]))
    result = {
        "new": classified_sets.new.metadata.name if classified_sets.new else record["new"] and "",
        "old": [machine_set.metadata.name for machine_set in classified_sets.old],
        "createReason": classified_sets.because,
        "upToDateResults": results(classified_sets.differences),
    }
    recorded = {name: record[name] for name in result}
    recorded["old"] = recorded["old"] or []
    recorded["upToDateResults"] = recorded["upToDateResults"] or {}
    yield from compared(recorded, result)


def check_deletion(record: Record) -> Iterator[str]:
    machines = [machine(item, number) for number, item in enumerate(record["machines"])]
    yield from compared(
        [item["healthy"] for item in record["machines"]], list(map(is_healthy, machines)), "healthy"
    )
    names = [item.metadata.name for item in deletion_order(machines, record["order"], NOW)]
    yield from compared(record["toMove"], names, "toMove")
    yield from compared(record["toDelete"], names[: max(record["diff"], 0)], "toDelete")


def machine(record: Record, number: int) -> Machine:
    """The `number`th Machine of a case: of equal ages, the recorder made the earlier one first."""
    metadata = {"name": record["name"], "annotations": record.get("annotations") or {}}
    if "ageSeconds" in record:
        now = NOW - timedelta(seconds=record["ageSeconds"], microseconds=-100 * number)
        metadata["creationTimestamp"] = now.isoformat()
    if record.get("deleting"):
        metadata["deletionTimestamp"] = stamp(NOW)
    status: Record = {
        "conditions": [
            {"reason": "R", "message": "", **condition} for condition in record["conditions"]
        ]
    }
    if record.get("nodeRef"):
        status["nodeRef"] = {"name": "node"}
    return typed(Machine, {"metadata": metadata, "status": status})


FILES: dict[str, Check] = {
    "plan": plan,
    "fenceposts": check_fenceposts,
    "new_ms_replicas": check_new_replicas,
    "proportion": check_proportion,
    "template_up_to_date": check_template,
    "find_new_and_old": check_sorted,
    "delete_priority": check_deletion,
}
