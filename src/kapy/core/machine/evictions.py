"""Carrying out a drain: cordon the Node, evict its Pods, see how far it got."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from kapy.api.names import Reason
from kapy.client.client import Client
from kapy.core.machine.drain import (
    Planned,
    Progress,
    daemon_set_of,
    is_unreachable,
    plan_drain,
    progress_message,
)
from kapy.core.machine.scope import MachineScope
from kapy.engine.result import Result, requeue
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, Forbidden, KapyError, NotFound, TooManyRequests
from kapy.kube.names import DAEMON_SETS, NODES, PODS

SOON: Final = timedelta(seconds=2)
LATER: Final = timedelta(seconds=20)
TERMINATING: Final = (
    "Cannot evict pod from terminating namespace: unable to create eviction "
    "(kube-controller-manager should set deletionTimestamp)"
)


async def drain(scope: MachineScope, node_name: str, started: str) -> Result | None:
    """Drain the Machine's Node as far as is possible now; None when it is drained (or gone).

    Raises NotConnected, and what the workload cluster answers.
    """
    client = scope.tools.remote.client(scope.cluster_key)
    try:
        node = await client.get(NODES, Key("", node_name))
    except NotFound:
        return None
    if not (node.get("spec") or {}).get("unschedulable"):
        await client.patch(NODES, Key("", node_name), {"spec": {"unschedulable": True}})
    unreachable = is_unreachable(node)
    planned = await planned_drain(scope, client, node_name, unreachable=unreachable)
    if planned.done:
        return None
    progress = await _evict(client, planned, grace=1 if unreachable else None)
    if progress.done:
        return None
    scope.waits(Reason.DRAINING_NODE, progress_message(progress, started))
    # Timers, because the Pods of a whole cluster are not kept in memory for the sake of one Node,
    # and a refused eviction is only ever allowed when it is asked for again.
    if progress.refused:
        return requeue(after=LATER, because="Pods refuse to be evicted")
    return requeue(after=SOON, because="Pods are still there")


async def planned_drain(
    scope: MachineScope, client: Client, node_name: str, *, unreachable: bool
) -> Planned:
    """The Pods of a Node by what is to become of them."""
    listed = await client.list(PODS, fields=f"spec.nodeName={node_name}")
    pods = [pod for pod in listed.items if (pod.get("spec") or {}).get("nodeName") == node_name]
    owners = {owner for pod in pods if (owner := daemon_set_of(pod)) is not None}
    existing = {owner for owner in sorted(owners) if await _exists(client, owner)}
    return plan_drain(
        pods, daemon_sets=existing.__contains__, now=scope.now, unreachable=unreachable
    )


async def _exists(client: Client, daemon_set: Key) -> bool:
    try:
        await client.get(DAEMON_SETS, daemon_set)
    except NotFound:
        return False
    return True


async def _evict(client: Client, planned: Planned, *, grace: int | None) -> Progress:
    progress = Progress(leaving=list(planned.leaving), waiting=planned.wait)
    for pod in planned.evict:
        try:
            await evict(client, pod, grace=grace)
        except NotFound:
            continue
        except KapyError as error:
            progress.refused.setdefault(_refusal(error), []).append(pod)
        else:
            progress.leaving.append(pod)
    progress.leaving.sort(key=Key.of)
    return progress


async def evict(client: Client, pod: Document, *, grace: int | None = None) -> None:
    """Ask for a Pod to be evicted, which respects its disruption budgets."""
    key = Key.of(pod)
    eviction: Document = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": key.name, "namespace": key.namespace},
    }
    if grace is not None:
        eviction["deleteOptions"] = {"gracePeriodSeconds": grace}
    await client.raw("POST", PODS.path(key.namespace, key.name, "eviction"), body=eviction)


def _refusal(error: KapyError) -> str:
    causes: Sequence[Document] = ()
    if isinstance(error, ApiError) and error.details is not None:
        causes = error.details.get("causes") or ()
    if isinstance(error, TooManyRequests):
        return f"{error.message} {','.join(str(one.get('message', '')) for one in causes)}"
    if isinstance(error, Forbidden) and any(
        one.get("reason") == "NamespaceTerminating" for one in causes
    ):
        return TERMINATING
    return str(error)
