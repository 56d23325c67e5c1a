"""Rules about how many Machines there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kapy.kube import Document
from kapy.kube.int_or_percent import int_value
from kapy.kube.version import parse_tolerant
from kapy.testing.simulation.rules.rule import (
    Rule,
    RuleContext,
    Write,
    cluster_name_of,
    is_deleting,
    replicas_of,
)
from kapy.testing.simulation.user import condition_of, is_control_plane, is_true

_POOL_VERSION: Final = "machine.inmemory.infrastructure.cluster.x-k8s.io/version"
RECENT: Final = 30.0
"""Seconds for which a former number of replicas excuses a creation that was decided before."""
UNNOTICED: Final = 1.0
"""Seconds for which a controller may not know that a Machine stopped being available."""


def _remember_replicas(context: RuleContext, write: Write) -> None:
    if write.new is None or "replicas" not in write.new.get("spec", {}):
        return
    uid = write.new["metadata"]["uid"]
    history = context.memory.setdefault(("replicas", uid), [])
    assert isinstance(history, list)
    history.append((context.world.now(), replicas_of(write.new)))


def largest_desired(context: RuleContext, owner: Document) -> int:
    """Return the largest number of replicas that is or was desired a moment ago."""
    history = context.memory.get(("replicas", owner["metadata"]["uid"]), [])
    assert isinstance(history, list)
    now = context.world.now()
    recent = [count for time, count in history if time >= now - RECENT]
    before = [count for time, count in history if time < now - RECENT][-1:]
    return int(max([*recent, *before, replicas_of(owner)]))


def _one_for_each_slot(context: RuleContext, write: Write) -> Iterator[str]:
    _remember_replicas(context, write)
    if write.kind == "DevMachine" and write.is_new:
        yield from _one_for_each_instance(context, write)
    if write.kind != "Machine" or not write.is_new:
        return
    machine = write.document
    if (owner := context.owner(machine, "MachineSet")) is not None:
        count = sum(not is_deleting(sibling) for sibling in context.owned("Machine", owner))
        if count > (most := largest_desired(context, owner)):
            name = owner["metadata"]["name"]
            yield f"MachineSet {name} has {count} Machines where {most} are desired"
    if (owner := context.owner(machine, "KubeadmControlPlane")) is not None:
        count = len(context.owned("Machine", owner))
        if count > (most := largest_desired(context, owner) + _surge(owner)):
            name = owner["metadata"]["name"]
            yield f"KubeadmControlPlane {name} has {count} Machines, more than {most}"


def _one_for_each_instance(context: RuleContext, write: Write) -> Iterator[str]:
    """A pool has no more machines of one version than are desired."""
    owner = context.owner(write.document, "DevMachinePool")
    pool = None if owner is None else context.owner(owner, "MachinePool")
    if owner is None or pool is None:
        return
    mine = _pool_version(write.document)
    alike = [
        machine for machine in context.owned("DevMachine", owner) if _pool_version(machine) == mine
    ]
    count = sum(not is_deleting(machine) for machine in alike)
    if count > (most := largest_desired(context, pool)):
        name = pool["metadata"]["name"]
        yield f"MachinePool {name} has {count} machines of {mine}, more than {most}"


def _pool_version(machine: Document) -> str:
    return str((machine["metadata"].get("annotations") or {}).get(_POOL_VERSION, ""))


def _one_set_for_each_template(context: RuleContext, write: Write) -> Iterator[str]:
    """Two MachineSets of one MachineDeployment must differ in template and selector; otherwise each
    would treat the other's Machines as its own."""
    if write.kind != "MachineSet" or not write.is_new:
        return
    deployment = context.owner(write.document, "MachineDeployment")
    if deployment is None or (deployment["spec"].get("rollout") or {}).get("after"):
        return
    mine = write.document
    for other in context.owned("MachineSet", deployment):
        if other["metadata"]["name"] == write.name:
            continue
        title = f"MachineSets {other['metadata']['name']} and {write.name}"
        if other["spec"]["template"]["spec"] == mine["spec"]["template"]["spec"]:
            yield f"{title} have the same template"
        elif other["spec"]["selector"] == mine["spec"]["selector"]:
            yield f"{title} select the same Machines"


def _surge(owner: Document) -> int:
    strategy = (owner["spec"].get("rollout") or {}).get("strategy") or {}
    value = (strategy.get("rollingUpdate") or {}).get("maxSurge")
    return 1 if value is None else int_value(value)


def _limit(deployment: Document, name: str, default: int, *, up: bool) -> int:
    strategy = (deployment["spec"].get("rollout") or {}).get("strategy") or {}
    value = (strategy.get("rollingUpdate") or {}).get(name)
    if value is None:
        return default
    if isinstance(value, int):
        return value
    share = int(str(value).rstrip("%")) * replicas_of(deployment)
    return -(-share // 100) if up else share // 100


def _rollout_limits(context: RuleContext, write: Write) -> Iterator[str]:
    if write.kind != "Machine":
        return
    _remember_availability(context, write)
    machine_set = context.owner(write.document, "MachineSet")
    deployment = None if machine_set is None else context.owner(machine_set, "MachineDeployment")
    if deployment is None or is_deleting(deployment):
        return
    machines = [
        machine
        for each in context.owned("MachineSet", deployment)
        for machine in context.owned("Machine", each)
        if not is_deleting(machine)
    ]
    name = deployment["metadata"]["name"]
    if write.is_new:
        most = largest_desired(context, deployment) + _limit(deployment, "maxSurge", 1, up=True)
        if len(machines) > most:
            yield f"MachineDeployment {name} has {len(machines)} Machines, more than {most}"
    if write.begins_deletion and write.old is not None and _counts(write.old):
        least = replicas_of(deployment) - _limit(deployment, "maxUnavailable", 0, up=False)
        available = sum(_counted_as_available(context, machine) for machine in machines)
        if available < least and write.name not in _victims(context):
            yield (
                f"MachineDeployment {name} has {available} available Machines, less than {least},"
                f" after the deletion of {write.name}"
            )


def _remember_availability(context: RuleContext, write: Write) -> None:
    if write.old is not None and write.new is not None and is_true(write.old, "Available"):
        slot = ("available", write.new["metadata"]["uid"])
        context.memory[slot] = context.world.now()


def _counted_as_available(context: RuleContext, machine: Document) -> bool:
    """Return whether a Machine is available, or was until a moment ago."""
    last = context.memory.get(("available", machine["metadata"]["uid"]))
    is_recent = isinstance(last, float) and last >= context.world.now() - UNNOTICED
    return is_recent or is_true(machine, "Available")


def _counts(machine: Document) -> bool:
    """Return whether losing the Machine reduces availability: it is available and not unhealthy."""
    healthy = condition_of(machine, "HealthCheckSucceeded")
    is_unhealthy = healthy is not None and healthy["status"] == "False"
    return is_true(machine, "Available") and not is_unhealthy


def _victims(context: RuleContext) -> set[str]:
    """Return the Machines that the user deletes."""
    return {
        str(step["object"]).partition("/")[2]
        for step in context.world.trace.steps
        if step["what"] == "user" and step["does"] == "delete"
    }


def _version_skew(context: RuleContext, write: Write) -> Iterator[str]:
    machine = write.document
    if write.kind != "Machine" or not write.is_new or "version" not in machine["spec"]:
        return  # Machines of a pool have no version
    cluster = cluster_name_of(machine)
    others = [
        _minor(other)
        for other in context.view.machines(control_plane=True)
        if cluster_name_of(other) == cluster and other is not machine
    ]
    if not others:
        return
    minor, name = _minor(machine), write.name
    if is_control_plane(machine) and minor > min(others) + 1:
        yield f"Machine {name} is more than one minor version newer than the control plane"
    if not is_control_plane(machine) and minor > min(others):
        yield f"worker Machine {name} is newer than the control plane"
    if not is_control_plane(machine) and minor < max(others) - 3:
        yield f"worker Machine {name} is more than three minor versions older"


def _minor(machine: Document) -> int:
    return parse_tolerant(machine["spec"]["version"]).minor


MACHINE_RULES: Final = (
    Rule("one-for-each-slot", "No slot has two Machines.", _one_for_each_slot),
    Rule("one-set", "Each template has one MachineSet.", _one_set_for_each_template),
    Rule("rollout-limits", "maxSurge and maxUnavailable hold.", _rollout_limits),
    Rule("version-skew", "Versions differ as Kubernetes allows.", _version_skew),
)
