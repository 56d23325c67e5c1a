"""Phase: delete a Machine step by step.

pre-drain hooks → drain → volumes detached → pre-terminate hooks → infrastructure → bootstrap config
→ Node → the Machine itself. Each step is either done or reports in the Deleting condition what it
waits for; everything that it waits for is watched. `drain_steps` drains the Node.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Final

from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.machine_status import MachineNodeReference
from kapy.api.names import Annotation, Finalizer, Label, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.times import stamp
from kapy.api.wording import LOOK_AT_LOGS
from kapy.conditions.v1beta1 import INFO, WARNING, false, true
from kapy.contract.control_plane import ControlPlane
from kapy.contract.fields import View
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.observed import Absent, Found, Observed, Unreadable
from kapy.core.machine.drain_steps import RETRY, detach_volumes, drain_node, until_reachable
from kapy.core.machine.node import find_node
from kapy.core.machine.scope import MachineScope
from kapy.engine.result import DONE, Result, requeue
from kapy.kube import Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.names import NODES
from kapy.remote.cluster_cache import NotConnected
from kapy.remote.nodes import NodeDeletion

Step = Callable[[MachineScope], Awaitable[Result | None]]
"""One step of a deletion. It returns None when it is done, otherwise the time to try again."""


async def reconcile_delete(scope: MachineScope) -> Result:
    """Run the steps of a Machine's deletion as far as possible."""
    scope.set_deleting_condition(Reason.DELETING, "Deletion started")
    try:
        has_node = await _may_touch_node(scope)
    except KapyError:
        scope.set_deleting_condition(Reason.INTERNAL_ERROR, LOOK_AT_LOGS)
        raise
    for step in WITH_NODE if has_node else WITHOUT_NODE:
        result = await step(scope)
        if result is not None:
            return result
    scope.set_deleting_condition(Reason.DELETION_COMPLETED, "Deletion completed")
    finalizers = scope.machine.metadata.finalizers
    finalizers[:] = [finalizer for finalizer in finalizers if finalizer != Finalizer.MACHINE]
    return DONE


async def _may_touch_node(scope: MachineScope) -> bool:
    """Return whether there is a Node to drain and delete in a cluster that remains."""
    machine, cluster = scope.machine, scope.cluster
    if cluster.deleting:
        return False
    if machine.status.node_ref is None:
        _find_node_once_more(scope)
    if machine.status.node_ref is None:
        return False
    if cluster.spec.control_plane_ref is not None:
        ref = cluster.spec.control_plane_ref
        result = await scope.dependencies.external.get(ref, scope.namespace, ControlPlane)
        match result:
            case Unreadable(error):
                raise error
            case Found(control_plane) if control_plane.deleting:
                return False
            case Found(view) if ControlPlane.external_managed.if_readable(view):
                return True
    return any(
        Label.CONTROL_PLANE in (item["metadata"].get("labels") or {})
        and not item["metadata"].get("deletionTimestamp")
        for item in scope.dependencies.fleet.machines_of(scope.cluster_key)
    )


def _find_node_once_more(scope: MachineScope) -> None:
    """Search the Node of the Machine once more; an unreachable cluster does not block the
    deletion.
    """
    machine = scope.machine
    provider_id = machine.spec.provider_id
    if not provider_id and isinstance(scope.infrastructure, Found):
        provider_id = InfraMachine.provider_id.if_readable(scope.infrastructure.view) or ""
    if not provider_id:
        return
    node = find_node(scope, provider_id)
    if isinstance(node, Found):
        machine.status.node_ref = MachineNodeReference(name=node.view["metadata"]["name"])


async def _pre_drain_hooks(scope: MachineScope) -> Result | None:
    """Wait until no pre-drain hook is left: the Node is not changed before."""
    hooks = _hooks_of(scope, Annotation.PRE_DRAIN_HOOK_PREFIX)
    _report_hooks(scope, V1Beta1Type.PRE_DRAIN_DELETE_HOOK_SUCCEEDED, hooks)
    if not hooks:
        return None
    times = scope.deletion_times()
    times.wait_for_pre_drain_hook_start_time = times.wait_for_pre_drain_hook_start_time or stamp(
        scope.now
    )
    message = f"Waiting for pre-drain hooks to succeed (hooks: {','.join(hooks)})"
    scope.set_deleting_condition(Reason.WAITING_FOR_PRE_DRAIN_HOOK, message)
    return DONE


async def _pre_terminate_hooks(scope: MachineScope) -> Result | None:
    """Wait until no pre-terminate hook is left: the infrastructure is not deleted before."""
    hooks = _hooks_of(scope, Annotation.PRE_TERMINATE_HOOK_PREFIX)
    _report_hooks(scope, V1Beta1Type.PRE_TERMINATE_DELETE_HOOK_SUCCEEDED, hooks)
    if not hooks:
        return None
    times = scope.deletion_times()
    times.wait_for_pre_terminate_hook_start_time = (
        times.wait_for_pre_terminate_hook_start_time or stamp(scope.now)
    )
    message = f"Waiting for pre-terminate hooks to succeed (hooks: {','.join(hooks)})"
    scope.set_deleting_condition(Reason.WAITING_FOR_PRE_TERMINATE_HOOK, message)
    return DONE


def _hooks_of(scope: MachineScope, prefix: str) -> list[str]:
    """Return the hook annotations that still block the deletion, sorted."""
    return sorted(
        annotation
        for annotation in scope.machine.metadata.annotations
        if annotation.startswith(prefix)
    )


def _report_hooks(scope: MachineScope, of: str, hooks: list[str]) -> None:
    waiting = false(of, V1Beta1Reason.WAITING_EXTERNAL_HOOK, INFO)
    scope.legacy.append(waiting if hooks else true(of))


async def _delete_infrastructure(scope: MachineScope) -> Result | None:
    ref = scope.machine.spec.infrastructure_ref
    reason, of = Reason.WAITING_FOR_INFRASTRUCTURE_DELETION, V1Beta1Type.INFRASTRUCTURE_READY
    result = await _delete_and_check(scope, scope.infrastructure, ref, reason, of)
    if result is None:
        scope.infrastructure = Absent()
    return result


async def _delete_bootstrap(scope: MachineScope) -> Result | None:
    ref = scope.machine.spec.bootstrap.config_ref
    if ref is None:
        return None
    reason, of = Reason.WAITING_FOR_BOOTSTRAP_DELETION, V1Beta1Type.BOOTSTRAP_READY
    result = await _delete_and_check(scope, scope.bootstrap, ref, reason, of)
    if result is None:
        scope.bootstrap = Absent()
    return result


async def _delete_and_check(
    scope: MachineScope,
    observed: Observed[View],
    ref: ContractVersionedObjectReference,
    reason: str,
    of: str,
) -> Result | None:
    if isinstance(observed, Found) and not observed.view.deleting:
        try:
            await _request_deletion(scope, observed.view)
        except KapyError:
            message = f"Failed to delete {ref.kind}, please check controller logs for errors"
            scope.set_deleting_condition(Reason.INTERNAL_ERROR, message)
            raise
        # An object without finalizers is gone at once: the next step need not wait for an event.
        observed = await scope.dependencies.external.get(ref, scope.namespace, View)
    if isinstance(observed, Absent):
        scope.legacy.append(false(of, V1Beta1Reason.DELETED, INFO))
        return None
    scope.set_deleting_condition(reason, f"Waiting for {ref.kind} to be deleted")
    return DONE


async def _request_deletion(scope: MachineScope, view: View) -> None:
    """Request the deletion of an object, which may be gone already."""
    dependencies, document = scope.dependencies, view.document
    resource, key = await dependencies.external.resource_of(document), Key.of(document)
    with suppress(NotFound):
        await dependencies.client.delete(resource, key, uid=document["metadata"]["uid"])


async def _delete_node(scope: MachineScope) -> Result | None:
    machine, dependencies = scope.machine, scope.dependencies
    assert machine.status.node_ref is not None
    deletion = dependencies.node_deletions.of(machine.key, machine.metadata.uid, scope.now)
    try:
        client = dependencies.remote.client(scope.cluster_key)
    except NotConnected as error:
        return _not_deleted(scope, deletion, error, connected=False)
    try:
        await client.delete(NODES, Key("", machine.status.node_ref.name))
    except NotFound:
        return None
    except KapyError as error:
        # A request that the throttle held back because the cluster is slow does not count as an
        # attempt.
        deletion.tries += not isinstance(error, NotConnected)
        return _not_deleted(scope, deletion, error, connected=True)
    return None


def _not_deleted(
    scope: MachineScope, deletion: NodeDeletion, error: KapyError, *, connected: bool
) -> Result | None:
    """Return when to retry; None if the Node's deletion timeout is over."""
    machine, events = scope.machine, scope.dependencies.events
    events.warning(machine, "FailedDeleteNode", f"error deleting Machine's Node: {error}")
    failed = false(V1Beta1Type.NODE_HEALTHY, V1Beta1Reason.DELETION_FAILED, WARNING)
    scope.legacy.append(failed)
    limit = machine.spec.deletion.node_deletion_timeout_seconds
    if deletion.is_over(limit, scope.now, connected=connected):
        return None
    message = "Error deleting Node, please check controller logs for errors"
    scope.set_deleting_condition(Reason.DELETING_NODE, message)
    remaining = deletion.remaining(limit, scope.now)
    until = DONE
    if remaining is not None and remaining > timedelta(0):
        until = requeue(after=remaining, because="the Node may stay behind")
    if isinstance(error, NotConnected):
        return until_reachable(scope, error).earlier_of(until)
    # A timer, because no event shows when the workload cluster will accept the deletion.
    return requeue(after=RETRY, because=f"cannot delete the Node: {error}").earlier_of(until)


WITHOUT_NODE: Final[tuple[Step, ...]] = (
    _pre_terminate_hooks,
    _delete_infrastructure,
    _delete_bootstrap,
)
WITH_NODE: Final[tuple[Step, ...]] = (
    _pre_drain_hooks,
    drain_node,
    detach_volumes,
    *WITHOUT_NODE,
    _delete_node,
)
