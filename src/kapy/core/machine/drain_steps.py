"""Steps of a deletion that drain the Node and wait for its volumes.

Each step may take the time that the Machine's `spec.deletion` allows, and is skipped once the
deletion of the infrastructure has begun. An unreachable workload cluster is waited for (its
connection enqueues the Machine) within that time.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from kapy.api.machine_status import MachineDeletionStatus
from kapy.api.names import Annotation, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.times import moment, stamp
from kapy.conditions.v1beta1 import INFO, WARNING, conditions_of, false, get, true
from kapy.contract.observed import Found
from kapy.core.machine.evictions import drain
from kapy.core.machine.scope import MachineScope
from kapy.core.machine.volumes import await_detachment
from kapy.engine.result import DONE, Result, requeue
from kapy.kube.errors import KapyError
from kapy.remote.cluster_cache import NotConnected

RETRY: Final = timedelta(seconds=2)
DRAIN_FAILED = "Error draining Node, please check controller logs for errors"
DETACH_FAILED = (
    "Error waiting for volumes to be detached from Node, please check controller logs for errors"
)


async def drain_node(scope: MachineScope) -> Result | None:
    """Drain the Node; return None when it is drained."""
    machine = scope.machine
    times = machine.status.deletion or MachineDeletionStatus()
    limit = machine.spec.deletion.node_drain_timeout_seconds
    if Annotation.EXCLUDE_NODE_DRAINING in machine.metadata.annotations:
        return None
    if not _is_before_deadline(scope) or is_over(times.node_drain_start_time, limit, scope.now):
        return None
    times = scope.deletion_times()
    times.node_drain_start_time = started = times.node_drain_start_time or stamp(scope.now)
    scope.set_deleting_condition(
        Reason.DRAINING_NODE, f"Drain not completed yet (started at {started}):"
    )
    assert machine.status.node_ref is not None
    name, of = machine.status.node_ref.name, V1Beta1Type.DRAINING_SUCCEEDED
    try:
        result = await drain(scope, name, started)
    except KapyError as error:
        scope.set_deleting_condition(Reason.DRAINING_NODE, DRAIN_FAILED)
        scope.legacy.append(false(of, V1Beta1Reason.DRAINING_FAILED, WARNING, str(error)))
        value = f'error draining Machine\'s node "{name}": {error}'
        scope.dependencies.events.warning(machine, "FailedDrainNode", value)
        result = until_reachable(scope, error)
    else:
        if result is None:
            scope.legacy.append(true(of))
            value = f'success draining Machine\'s node "{name}"'
            scope.dependencies.events.normal(machine, "SuccessfulDrainNode", value)
            return None
        scope.legacy.append(false(of, V1Beta1Reason.DRAINING, INFO, scope.deleting[1]))
    return result.earlier_of(
        requeue_at_timeout(started, limit, scope.now, "the drain may take no longer")
    )


async def detach_volumes(scope: MachineScope) -> Result | None:
    """Wait until the volumes are detached; return None when they are."""
    machine = scope.machine
    times = machine.status.deletion or MachineDeletionStatus()
    limit = machine.spec.deletion.node_volume_detach_timeout_seconds
    started = times.wait_for_node_volume_detach_start_time
    if Annotation.EXCLUDE_WAIT_FOR_NODE_VOLUME_DETACH in machine.metadata.annotations:
        return None
    if not _is_before_deadline(scope) or is_over(started, limit, scope.now):
        return None
    times = scope.deletion_times()
    times.wait_for_node_volume_detach_start_time = started = started or stamp(scope.now)
    reason, of = Reason.WAITING_FOR_VOLUME_DETACH, V1Beta1Type.VOLUME_DETACH_SUCCEEDED
    scope.set_deleting_condition(
        reason, f"Waiting for Node volumes to be detached (started at {started})"
    )
    if get(conditions_of(machine), of) is None:
        waiting = "Waiting for node volumes to be detached"
        scope.legacy.append(false(of, V1Beta1Reason.WAITING_FOR_VOLUME_DETACH, INFO, waiting))
    assert machine.status.node_ref is not None
    name, events = machine.status.node_ref.name, scope.dependencies.events
    try:
        result = await await_detachment(scope, name, started)
    except KapyError as error:
        scope.set_deleting_condition(reason, DETACH_FAILED)
        value = f'error waiting for node volumes detaching, Machine\'s node "{name}": {error}'
        events.warning(machine, "FailedWaitForVolumeDetach", value)
        result = until_reachable(scope, error)
    if result is None:
        scope.legacy.append(true(of))
        value = f'success waiting for node volumes detaching Machine\'s node "{name}"'
        events.normal(machine, "NodeVolumesDetached", value)
        return None
    return result.earlier_of(
        requeue_at_timeout(started, limit, scope.now, "volumes get no more time")
    )


def until_reachable(scope: MachineScope, error: KapyError) -> Result:
    """Return when to ask a workload cluster again that failed temporarily; raise other errors."""
    if not isinstance(error, NotConnected):
        raise error
    if not scope.dependencies.remote.health(scope.cluster_key).connected:
        return DONE  # the restored connection enqueues the Machine
    # A timer, because no event shows when a slow cluster can handle another request.
    return requeue(after=RETRY, because=str(error))


def _is_before_deadline(scope: MachineScope) -> bool:
    """Return whether the deletion of the infrastructure has not begun."""
    times, infrastructure = scope.machine.status.deletion, scope.infrastructure
    if times is not None and times.wait_for_pre_terminate_hook_start_time is not None:
        return False
    return isinstance(infrastructure, Found) and not infrastructure.view.deleting


def is_over(started: str | None, limit: int | None, now: datetime) -> bool:
    """Return whether a step's timeout is over (none or 0: no timeout)."""
    if started is None or not limit or limit < 0:
        return False
    return now - moment(started) >= timedelta(seconds=limit)


def requeue_at_timeout(started: str, limit: int | None, now: datetime, because: str) -> Result:
    """Return a timer for the timeout of a step: there is no event at that moment."""
    if not limit or limit < 0:
        return DONE
    whole = timedelta(seconds=limit)
    remaining = min(moment(started) + whole - now, whole)  # a wrong clock may be set meanwhile
    return requeue(after=max(remaining, timedelta(milliseconds=1)), because=because)
