"""Phase: a Machine goes away, step by step.

pre-drain hooks → drain → volumes detached → pre-terminate hooks → infrastructure → bootstrap
config → Node → the Machine itself. Each step either is done or says in the Deleting condition
what it waits for; everything that is waited for is watched, but Pods and volumes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

from kapy.api.machine import MachineDeletionStatus, MachineNodeReference
from kapy.api.names import Annotation, Finalizer, Label, Reason
from kapy.api.times import moment, stamp
from kapy.contract.control_plane import ControlPlane
from kapy.contract.fields import View
from kapy.contract.observed import Absent, Found, Observed, Unreadable
from kapy.core.machine.detachment import await_detachment
from kapy.core.machine.evictions import drain
from kapy.core.machine.node import find_node
from kapy.core.machine.scope import MachineScope
from kapy.engine.result import DONE, Result, requeue
from kapy.kube import Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.names import NODES

LOOK_AT_LOGS: Final = "Please check controller logs for errors"
NODE_RETRY: Final = timedelta(seconds=2)

Step = Callable[[MachineScope], Awaitable[Result | None]]
"""One step: None when it is done, otherwise when to look again."""


async def reconcile_delete(scope: MachineScope) -> Result:
    """Go as far as is possible now."""
    scope.waits(Reason.DELETING, "Deletion started")
    try:
        has_node = await _may_touch_node(scope)
    except KapyError:
        scope.waits(Reason.INTERNAL_ERROR, LOOK_AT_LOGS)
        raise
    with_node: tuple[Step, ...] = (_pre_drain_hooks, _drained, _volumes_detached)
    steps: tuple[Step, ...] = (_pre_terminate_hooks, _infrastructure_gone, _bootstrap_gone)
    if has_node:
        steps = (*with_node, *steps, _node_gone)
    for step in steps:
        result = await step(scope)
        if result is not None:
            return result
    scope.waits(Reason.DELETION_COMPLETED, "Deletion completed")
    finalizers = scope.machine.metadata.finalizers
    finalizers[:] = [one for one in finalizers if one != Finalizer.MACHINE]
    return DONE


async def _may_touch_node(scope: MachineScope) -> bool:
    """Whether there is a Node to drain and delete, and a cluster left to do it in."""
    machine, cluster = scope.machine, scope.cluster
    if cluster.deleting:
        return False
    if machine.status.node_ref is None:
        _look_for_node(scope)
    if machine.status.node_ref is None:
        return False
    if cluster.spec.control_plane_ref is not None:
        ref = cluster.spec.control_plane_ref
        found = await scope.tools.external.get(ref, scope.namespace, ControlPlane)
        match found:
            case Unreadable(error):
                raise error
            case Found(control_plane) if control_plane.deleting:
                return False
            case Found(control_plane) if control_plane.external_managed:
                return True
    return any(
        Label.CONTROL_PLANE in (one["metadata"].get("labels") or {})
        and not one["metadata"].get("deletionTimestamp")
        for one in scope.tools.fleet.machines_of(scope.cluster_key)
    )


def _look_for_node(scope: MachineScope) -> None:
    """A last attempt; a cluster that cannot be asked does not keep a Machine from going."""
    machine = scope.machine
    provider_id = machine.spec.provider_id
    if not provider_id and isinstance(scope.infrastructure, Found):
        provider_id = scope.infrastructure.view.provider_id or ""
    if not provider_id:
        return
    found = find_node(scope, provider_id)
    if isinstance(found, Found):
        machine.status.node_ref = MachineNodeReference(name=found.view["metadata"]["name"])


async def _pre_drain_hooks(scope: MachineScope) -> Result | None:
    hooks = hooks_of(scope, Annotation.PRE_DRAIN_HOOK_PREFIX)
    if not hooks:
        return None
    times = deletion_times(scope)
    times.wait_for_pre_drain_hook_start_time = times.wait_for_pre_drain_hook_start_time or stamp(
        scope.now
    )
    message = f"Waiting for pre-drain hooks to succeed (hooks: {','.join(hooks)})"
    scope.waits(Reason.WAITING_FOR_PRE_DRAIN_HOOK, message)
    return DONE


async def _pre_terminate_hooks(scope: MachineScope) -> Result | None:
    hooks = hooks_of(scope, Annotation.PRE_TERMINATE_HOOK_PREFIX)
    if not hooks:
        return None
    times = deletion_times(scope)
    times.wait_for_pre_terminate_hook_start_time = (
        times.wait_for_pre_terminate_hook_start_time or stamp(scope.now)
    )
    message = f"Waiting for pre-terminate hooks to succeed (hooks: {','.join(hooks)})"
    scope.waits(Reason.WAITING_FOR_PRE_TERMINATE_HOOK, message)
    return DONE


def hooks_of(scope: MachineScope, prefix: str) -> list[str]:
    """The annotations of hooks that still hold the deletion, sorted."""
    return sorted(one for one in scope.machine.metadata.annotations if one.startswith(prefix))


def deletion_times(scope: MachineScope) -> MachineDeletionStatus:
    """`status.deletion`, made if need be."""
    status = scope.machine.status
    if status.deletion is None:
        status.deletion = MachineDeletionStatus()
    return status.deletion


async def _drained(scope: MachineScope) -> Result | None:
    machine = scope.machine
    times = machine.status.deletion or MachineDeletionStatus()
    limit = machine.spec.deletion.node_drain_timeout_seconds
    if Annotation.EXCLUDE_NODE_DRAINING in machine.metadata.annotations:
        return None
    if not _before_the_end(scope) or _over(times.node_drain_start_time, limit, scope.now):
        return None
    times = deletion_times(scope)
    times.node_drain_start_time = started = times.node_drain_start_time or stamp(scope.now)
    scope.waits(Reason.DRAINING_NODE, f"Drain not completed yet (started at {started}):")
    assert machine.status.node_ref is not None
    name, events = machine.status.node_ref.name, scope.tools.events
    try:
        result = await drain(scope, name, started)
    except KapyError as error:
        message = "Error draining Node, please check controller logs for errors"
        scope.waits(Reason.DRAINING_NODE, message)
        told = f'error draining Machine\'s node "{name}": {error}'
        events.warning(machine, "FailedDrainNode", told)
        raise
    if result is None:
        events.normal(machine, "SuccessfulDrainNode", f'success draining Machine\'s node "{name}"')
        return None
    return result.sooner(_at_timeout(started, limit, scope.now, "the drain may take no longer"))


async def _volumes_detached(scope: MachineScope) -> Result | None:
    machine = scope.machine
    times = machine.status.deletion or MachineDeletionStatus()
    limit = machine.spec.deletion.node_volume_detach_timeout_seconds
    started = times.wait_for_node_volume_detach_start_time
    if Annotation.EXCLUDE_WAIT_FOR_NODE_VOLUME_DETACH in machine.metadata.annotations:
        return None
    if not _before_the_end(scope) or _over(started, limit, scope.now):
        return None
    times = deletion_times(scope)
    times.wait_for_node_volume_detach_start_time = started = started or stamp(scope.now)
    reason = Reason.WAITING_FOR_VOLUME_DETACH
    scope.waits(reason, f"Waiting for Node volumes to be detached (started at {started})")
    assert machine.status.node_ref is not None
    name, events = machine.status.node_ref.name, scope.tools.events
    try:
        result = await await_detachment(scope, name, started)
    except KapyError as error:
        message = (
            "Error waiting for volumes to be detached from Node, "
            "please check controller logs for errors"
        )
        scope.waits(reason, message)
        told = f'error waiting for node volumes detaching, Machine\'s node "{name}": {error}'
        events.warning(machine, "FailedWaitForVolumeDetach", told)
        raise
    if result is None:
        told = f'success waiting for node volumes detaching Machine\'s node "{name}"'
        events.normal(machine, "NodeVolumesDetached", told)
        return None
    return result.sooner(_at_timeout(started, limit, scope.now, "volumes get no more time"))


def _before_the_end(scope: MachineScope) -> bool:
    """Whether the machine is still whole: its end has not been begun in any way."""
    times, infrastructure = scope.machine.status.deletion, scope.infrastructure
    if times is not None and times.wait_for_pre_terminate_hook_start_time is not None:
        return False
    return isinstance(infrastructure, Found) and not infrastructure.view.deleting


def _over(started: str | None, limit: int | None, now: datetime) -> bool:
    """Whether a step has had its time (no limit, or 0: it has all the time there is)."""
    if started is None or not limit or limit < 0:
        return False
    return now - moment(started) >= timedelta(seconds=limit)


def _at_timeout(started: str, limit: int | None, now: datetime, because: str) -> Result:
    """A timer, because nothing changes at the moment when a step has had its time."""
    if not limit or limit < 0:
        return DONE
    left = moment(started) + timedelta(seconds=limit) - now
    return requeue(after=max(left, timedelta(milliseconds=1)), because=because)


async def _infrastructure_gone(scope: MachineScope) -> Result | None:
    kind = scope.machine.spec.infrastructure_ref.kind
    return await _gone(
        scope, scope.infrastructure, kind, Reason.WAITING_FOR_INFRASTRUCTURE_DELETION
    )


async def _bootstrap_gone(scope: MachineScope) -> Result | None:
    ref = scope.machine.spec.bootstrap.config_ref
    if ref is None:
        return None
    return await _gone(scope, scope.bootstrap, ref.kind, Reason.WAITING_FOR_BOOTSTRAP_DELETION)


async def _gone(
    scope: MachineScope, observed: Observed[View], kind: str, reason: str
) -> Result | None:
    if isinstance(observed, Absent):
        return None
    if isinstance(observed, Found) and not observed.view.deleting:
        try:
            gone = await _ask_to_go(scope, observed.view)
        except KapyError:
            message = f"Failed to delete {kind}, please check controller logs for errors"
            scope.waits(Reason.INTERNAL_ERROR, message)
            raise
        if gone:
            return None
    scope.waits(reason, f"Waiting for {kind} to be deleted")
    return DONE


async def _ask_to_go(scope: MachineScope, view: View) -> bool:
    """Whether it was gone at once."""
    tools, document = scope.tools, view.document
    resource, key = await tools.external.resource_of(document), Key.of(document)
    try:
        await tools.client.delete(resource, key, uid=document["metadata"]["uid"])
    except NotFound:
        return True
    return False


async def _node_gone(scope: MachineScope) -> Result | None:
    machine, tools = scope.machine, scope.tools
    assert machine.status.node_ref is not None
    try:
        client = tools.remote.client(scope.cluster_key)
        await client.delete(NODES, Key("", machine.status.node_ref.name))
    except NotFound:
        return None
    except KapyError as error:
        tools.events.warning(machine, "FailedDeleteNode", f"error deleting Machine's Node: {error}")
        limit = machine.spec.deletion.node_deletion_timeout_seconds
        if _over(machine.metadata.deletion_timestamp, limit, scope.now):
            return None
        message = "Error deleting Node, please check controller logs for errors"
        scope.waits(Reason.DELETING_NODE, message)
        # A timer, because the workload cluster does not tell when it will answer again.
        return requeue(after=NODE_RETRY, because=f"cannot delete the Node: {error}")
    return None
