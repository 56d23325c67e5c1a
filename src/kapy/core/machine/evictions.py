"""Execute a drain: cordon the Node, evict its Pods, report progress."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final

from kapy.api.names import Reason
from kapy.api.times import moment
from kapy.client.client import Client
from kapy.core.machine.drain import (
    GONE_AFTER,
    DrainContext,
    DrainPlan,
    DrainProgress,
    DrainRules,
    daemon_set_of,
    is_unreachable,
    plan_drain,
    progress_message,
    rules_for,
)
from kapy.core.machine.node import watched_nodes
from kapy.core.machine.scope import MachineScope
from kapy.engine.result import DONE, Result, requeue
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, Forbidden, KapyError, NotFound, TooManyRequests
from kapy.kube.names import DAEMON_SETS, NAMESPACES, NODES, PODS, Resource

BUDGETS: Final = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
RETRY_SECONDS: Final = timedelta(seconds=20)
EVICTION_TIMEOUT: Final = 10.0
TIMEOUT_MESSAGE: Final = "eviction timeout of 10s reached, eviction will be retried"
TERMINATING: Final = (
    "Cannot evict pod from terminating namespace: unable to create eviction "
    "(kube-controller-manager should set deletionTimestamp)"
)


async def drain(scope: MachineScope, node_name: str, started: str) -> Result | None:
    """Drain the Machine's Node as far as possible; return None when it is drained (or gone).

    The Pods of the Node are watched if any has to leave. Raises NotConnected, InvalidRule, and the
    workload cluster's errors.
    """
    node = watched_nodes(scope).raw(Key("", node_name))
    if node is None:
        return None
    client = scope.dependencies.remote.client(scope.cluster_key)
    if not (node.get("spec") or {}).get("unschedulable"):
        await client.patch(NODES, Key("", node_name), {"spec": {"unschedulable": True}})
    unreachable = is_unreachable(node)
    planned = await planned_drain(scope, node_name, unreachable=unreachable, hold=True)
    if planned.done:
        return None
    progress = await _evict(client, planned, grace=1 if unreachable else None)
    if progress.done:
        return None
    scope.set_deleting_condition(Reason.DRAINING_NODE, progress_message(progress, started))
    result = await _report_refusals(scope, progress)
    return result.earlier_of(_until_gone(scope, progress.leaving)) if unreachable else result


async def _report_refusals(scope: MachineScope, progress: DrainProgress) -> Result:
    """Return when to retry refused evictions."""
    if not progress.refused:
        return DONE
    with suppress(NotFound):  # a server without budgets refuses for other reasons
        (await scope.snapshot(BUDGETS)).watch()
    # A timer, because only a new attempt shows whether a refused eviction is now allowed.
    # Disruption budgets, the usual reason, are watched.
    return requeue(after=RETRY_SECONDS, because="Pods refuse to be evicted")


def _until_gone(scope: MachineScope, leaving: Sequence[Document]) -> Result:
    """Requeue the Machine for the time when Pods on an unreachable Node count as gone, which no
    event reports.
    """
    ends = [moment(end) for pod in leaving if (end := pod["metadata"].get("deletionTimestamp"))]
    now = scope.dependencies.remote.now(scope.cluster_key)
    remaining = max(ends, default=now) + GONE_AFTER - now
    because = "the Node is unreachable, its Pods count as gone soon"
    return requeue(after=max(remaining, timedelta(seconds=1)), because=because)


async def planned_drain(
    scope: MachineScope, node_name: str, *, unreachable: bool, hold: bool
) -> DrainPlan:
    """Return the drain plan of a Node. hold: watch the Pods if any has to leave."""
    snapshot = await scope.snapshot(PODS, f"spec.nodeName={node_name}")
    pods = [pod for pod in snapshot.items if (pod.get("spec") or {}).get("nodeName") == node_name]
    if not pods:
        return DrainPlan()
    client, dependencies = scope.dependencies.remote.client(scope.cluster_key), scope.dependencies
    rules = rules_for(scope.machine, scope.cluster, dependencies.drain_rules.list(scope.namespace))
    existing = await _existing_daemon_sets(scope, pods)
    context = DrainContext(
        dependencies.remote.now(scope.cluster_key),
        existing.__contains__,
        unreachable=unreachable,
        rules=rules.disposition_of(await _namespaces(client, rules)),
    )
    planned = plan_drain(pods, context)
    if hold and not planned.done:
        snapshot.watch()
    return planned


async def _namespaces(client: Client, rules: DrainRules) -> Mapping[str, Mapping[str, str]]:
    """Return the labels of each namespace, if rules depend on them."""
    if not rules.needs_namespaces:
        return {}
    listed = (await client.list(NAMESPACES)).items
    return {item["metadata"]["name"]: item["metadata"].get("labels") or {} for item in listed}


async def _existing_daemon_sets(scope: MachineScope, pods: Iterable[Document]) -> set[Key]:
    """Return the DaemonSets of these Pods that exist."""
    client = scope.dependencies.remote.client(scope.cluster_key)
    daemon_sets = scope.dependencies.temporary_watches.daemon_sets(scope.machine.key)
    owners = {owner for pod in pods if (owner := daemon_set_of(pod)) is not None}
    daemon_sets.update(
        [owner for owner in sorted(owners - daemon_sets) if await _exists(client, owner)]
    )
    return daemon_sets


async def _exists(client: Client, daemon_set: Key) -> bool:
    try:
        await client.get(DAEMON_SETS, daemon_set)
    except NotFound:
        return False
    return True


async def _evict(client: Client, planned: DrainPlan, *, grace: int | None) -> DrainProgress:
    progress = DrainProgress(
        leaving=list(planned.leaving),
        waiting=planned.wait,
        evict_later=planned.evict_later,
        wait_later=planned.wait_later,
    )
    loop = asyncio.get_running_loop()
    deadline = loop.time() + EVICTION_TIMEOUT
    for pod in planned.evict:
        try:
            async with asyncio.timeout_at(deadline):
                await evict(client, pod, grace=grace)
        except TimeoutError:
            progress.refused.setdefault(TIMEOUT_MESSAGE, []).append(pod)
        except NotFound:
            continue
        except KapyError as error:
            progress.refused.setdefault(_refusal_message(error), []).append(pod)
        else:
            progress.leaving.append(pod)
    progress.leaving.sort(key=Key.of)
    return progress


async def evict(client: Client, pod: Document, *, grace: int | None = None) -> None:
    """Evict a Pod; its disruption budgets are respected."""
    key = Key.of(pod)
    eviction: Document = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": key.name, "namespace": key.namespace},
    }
    if grace is not None:
        eviction["deleteOptions"] = {"gracePeriodSeconds": grace}
    await client.raw("POST", PODS.path(key.namespace, key.name, "eviction"), body=eviction)


def _refusal_message(error: KapyError) -> str:
    causes: Sequence[Document] = ()
    if isinstance(error, ApiError) and error.details is not None:
        causes = error.details.get("causes") or ()
    if isinstance(error, TooManyRequests):
        return f"{error.message} {','.join(str(cause.get('message', '')) for cause in causes)}"
    if isinstance(error, Forbidden) and any(
        cause.get("reason") == "NamespaceTerminating" for cause in causes
    ):
        return TERMINATING
    return str(error)
