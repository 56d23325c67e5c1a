"""Steps of a deletion that wait for external hooks, which are annotations of the Machine."""

from __future__ import annotations

from kapy.api.names import Annotation, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.times import stamp
from kapy.conditions.v1beta1 import INFO, false, true
from kapy.core.machine.scope import MachineScope
from kapy.engine.result import DONE, Result


async def pre_drain_hooks(scope: MachineScope) -> Result | None:
    """Wait until no pre-drain hook is left: the Node is not changed before."""
    hooks = hooks_of(scope, Annotation.PRE_DRAIN_HOOK_PREFIX)
    _report(scope, V1Beta1Type.PRE_DRAIN_DELETE_HOOK_SUCCEEDED, hooks)
    if not hooks:
        return None
    times = scope.deletion_times()
    times.wait_for_pre_drain_hook_start_time = times.wait_for_pre_drain_hook_start_time or stamp(
        scope.now
    )
    message = f"Waiting for pre-drain hooks to succeed (hooks: {','.join(hooks)})"
    scope.set_deleting_condition(Reason.WAITING_FOR_PRE_DRAIN_HOOK, message)
    return DONE


async def pre_terminate_hooks(scope: MachineScope) -> Result | None:
    """Wait until no pre-terminate hook is left: the infrastructure is not deleted before."""
    hooks = hooks_of(scope, Annotation.PRE_TERMINATE_HOOK_PREFIX)
    _report(scope, V1Beta1Type.PRE_TERMINATE_DELETE_HOOK_SUCCEEDED, hooks)
    if not hooks:
        return None
    times = scope.deletion_times()
    times.wait_for_pre_terminate_hook_start_time = (
        times.wait_for_pre_terminate_hook_start_time or stamp(scope.now)
    )
    message = f"Waiting for pre-terminate hooks to succeed (hooks: {','.join(hooks)})"
    scope.set_deleting_condition(Reason.WAITING_FOR_PRE_TERMINATE_HOOK, message)
    return DONE


def hooks_of(scope: MachineScope, prefix: str) -> list[str]:
    """Return the hook annotations that still block the deletion, sorted."""
    return sorted(
        annotation
        for annotation in scope.machine.metadata.annotations
        if annotation.startswith(prefix)
    )


def _report(scope: MachineScope, of: str, hooks: list[str]) -> None:
    waiting = false(of, V1Beta1Reason.WAITING_EXTERNAL_HOOK, INFO)
    scope.legacy.append(waiting if hooks else true(of))
