"""Rules about what must not be done: around budgets, in a pause, in an outage, without a lock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.apiserver.verbs.eviction import BUDGETS, selects
from kapy.kube import Document
from kapy.kube.names import CONFIG_MAPS, NODES
from kapy.providers.inmemory.workload.cluster import WorkloadCluster
from kapy.testing.simulation.rules.rule import (
    Rule,
    RuleContext,
    Write,
    cluster_name_of,
    is_deleting,
)
from kapy.testing.simulation.user import condition_of, is_true

PAUSE_GRACE: Final = 130.0
"""Seconds after which a pause is known to every process, whatever its faults are."""

LATEST: Final = 900.0
"""Seconds by which other faults may delay a health check."""
_LOCK: Final = "-lock"


def pod_violation(workload: WorkloadCluster, event: WriteEvent) -> str:
    """Return what is wrong with a write to a Pod of a workload cluster, "" for nothing.

    A Pod with a PodDisruptionBudget goes by an eviction, or after its Node.
    """
    pod, before = event.document, event.previous
    if event.table != "pods" or before is None or is_deleting(before):
        return ""
    if event.change != "DELETED" and not is_deleting(pod):
        return ""
    if condition_of(pod, "DisruptionTarget") is not None or not _is_on_a_node(workload, pod):
        return ""
    table = workload.server.store.peek(BUDGETS)
    budgets = () if table is None else table.scan(event.namespace)
    if any(selects(budget, pod) for budget in budgets):
        return f"Pod {event.name} was deleted without a look at its PodDisruptionBudget"
    return ""


def _is_on_a_node(workload: WorkloadCluster, pod: Document) -> bool:
    node = (pod.get("spec") or {}).get("nodeName", "")
    return bool(node) and workload.objects.get(NODES, "", node) is not None


def _running_pods(context: RuleContext, write: Write) -> Iterator[str]:
    """The machine of a Node goes after the Pods that a budget protects."""
    if write.kind != "DevMachine" or not write.begins_deletion:
        return
    workload = context.workload_of(write.document)
    table = None if workload is None else workload.server.store.peek(BUDGETS)
    cluster = context.view.get("Cluster", cluster_name_of(write.document))
    if workload is None or table is None or cluster is None or is_deleting(cluster):
        return
    pods = workload.server.store.peek("pods")
    for pod in () if pods is None else pods.scan(""):
        if (pod.get("spec") or {}).get("nodeName") != write.name or is_deleting(pod):
            continue
        if any(selects(budget, pod) for budget in table.scan(pod["metadata"]["namespace"])):
            yield f"DevMachine {write.name} goes with Pod {pod['metadata']['name']} on its Node"


def _pause(context: RuleContext, write: Write) -> Iterator[str]:
    if write.kind == "Cluster" and write.new is not None:
        slot = ("pause", write.new["metadata"]["uid"])
        if not write.new["spec"].get("paused"):
            context.memory.pop(slot, None)
        else:
            context.memory.setdefault(slot, context.world.now())
        return
    cluster = context.view.get("Cluster", cluster_name_of(write.document))
    since = None if cluster is None else context.memory.get(("pause", cluster["metadata"]["uid"]))
    if not isinstance(since, float) or context.world.now() < since + PAUSE_GRACE:
        return
    title, old, new = f"{write.kind} {write.name}", write.old, write.new
    if write.kind in _MADE and (new is None or old is None):
        yield f"{title} was created or deleted in a pause"
    elif write.kind in _MADE[1:] and write.begins_deletion:  # Machines are deleted by the user
        yield f"the deletion of {title} began in a pause"
    elif write.kind == "MachineSet" and old is not None and new is not None:
        is_changed = old["spec"] != new["spec"] and not context.is_by_user(write)
        yield from [f"{title} was changed in a pause"] if is_changed else ()


_MADE: Final = ("Machine", "MachineSet", "DevMachine", "KubeadmConfig")


def _remediation(context: RuleContext, write: Write) -> Iterator[str]:
    """No more Machines are remediated than a MachineHealthCheck allows."""
    if write.kind != "Machine" or not write.begins_deletion or not _is_unhealthy(write.document):
        return
    labels = (write.document["metadata"].get("labels") or {}).items()
    for check in context.view.all("MachineHealthCheck"):
        wanted = (check["spec"].get("selector") or {}).get("matchLabels") or {}
        trigger = (check["spec"].get("remediation") or {}).get("triggerIf") or {}
        limit = trigger.get("unhealthyLessThanOrEqualTo")
        if not wanted or not isinstance(limit, int) or not wanted.items() <= labels:
            continue
        machines = [
            machine
            for machine in context.view.all("Machine")
            if wanted.items() <= (machine["metadata"].get("labels") or {}).items()
        ]
        count = sum(_is_failing(context, machine) for machine in machines)
        if count > limit:
            name = check["metadata"]["name"]
            yield f"Machine {write.name} goes while {count} are unhealthy; {name} allows {limit}"


def _patience(context: RuleContext, write: Write) -> Iterator[str]:
    """A Machine is given up when it has failed for as long as its health check allows."""
    name, now = write.name, context.world.now()
    if write.kind != "Machine" or write.new is None:
        return
    created = context.memory.setdefault(("created", write.new["metadata"]["uid"]), now)
    condition = condition_of(write.new, "HealthCheckSucceeded")
    if write.old is None or not _is_unhealthy(write.new) or _is_unhealthy(write.old):
        return
    assert isinstance(created, float)
    assert condition is not None
    begins = {
        "NodeStartupTimeout": (created, "nodeStartupTimeoutSeconds"),
        "UnhealthyNode": (context.world.broken_nodes.get(name), "unhealthyNodeConditions"),
    }
    since, field = begins.get(condition["reason"], (None, ""))
    least = min(_timeouts(context, field), default=0)
    if since is None or not least:
        return
    if (seconds := now - since + 1.0) < least:  # times have whole seconds
        yield f"Machine {name} was given up after {seconds:.0f} s, and not after {least}"
    if seconds > least + LATEST:
        yield f"Machine {name} was given up after {seconds:.0f} s instead of {least}"


def _timeouts(context: RuleContext, field: str) -> Iterator[int]:
    for check in context.view.all("MachineHealthCheck"):
        value = check["spec"]["checks"].get(field)
        if isinstance(value, int):
            yield value
        else:
            yield from (entry["timeoutSeconds"] for entry in value or ())


def _is_unhealthy(machine: Document) -> bool:
    condition = condition_of(machine, "HealthCheckSucceeded")
    return condition is not None and condition["status"] == "False"


def _is_failing(context: RuleContext, machine: Document) -> bool:
    """Return whether a Machine is unhealthy, and its Node has not become ready meanwhile.

    Its condition may be older: the API server may refuse writes for a minute.
    """
    workload = context.workload_of(machine)
    name = ((machine.get("status") or {}).get("nodeRef") or {}).get("name", "")
    node = None if workload is None else workload.objects.get(NODES, "", name)
    return _is_unhealthy(machine) and (node is None or not is_true(node, "Ready"))


def _locks(context: RuleContext) -> Iterator[str]:
    """In the end a lock is held only by a Machine that exists, and that alone has boot data."""
    for lock in context.world.documents(CONFIG_MAPS):
        cluster = cluster_name_of(lock)
        if not lock["metadata"]["name"].endswith(_LOCK) or not cluster:
            continue
        holder = json.loads(lock["data"]["lock-information"])["machineName"]
        if context.view.get("Machine", holder) is None:
            yield f"Machine {holder}, which is gone, holds the init lock of {cluster}"
        for machine in context.view.all("Machine"):
            name = machine["metadata"]["name"]
            if (
                cluster_name_of(machine) == cluster
                and name != holder
                and machine["spec"]["bootstrap"].get("dataSecretName")
            ):
                yield f"the init lock of {cluster} is held although Machine {name} has joined"


RESTRAINT_RULES: Final = (
    Rule("budgets", "No drain violates a PodDisruptionBudget.", _running_pods),
    Rule("pause", "Nothing is made, changed or deleted in a paused cluster.", _pause),
    Rule("remediation-limits", "A health check's limit holds.", _remediation),
    Rule("patience", "A Machine is given up when its health check's time is over.", _patience),
    Rule("init-lock", "The init lock is held only while a machine initializes.", final=_locks),
)
