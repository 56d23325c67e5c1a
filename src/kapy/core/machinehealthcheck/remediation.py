"""Phase: what was found is written on the Machines, and the unhealthy ones are remediated."""

from __future__ import annotations

from kapy.core.machinehealthcheck.checks import Healthy, Undecided, Unhealthy
from kapy.core.machinehealthcheck.external import Requests, requests_of
from kapy.core.machinehealthcheck.marks import health_marks, mark, owner_marks
from kapy.core.machinehealthcheck.scope import HealthScope
from kapy.core.machinehealthcheck.targets import Target


async def tell_health(scope: HealthScope) -> None:
    """Only say on the Machines how they fare: remediation is not allowed."""
    errors = list[Exception]()
    for target, verdict in scope.findings:
        try:
            await mark(scope, target, health_marks(verdict))
        except Exception as error:
            errors.append(error)
    _raise(errors)


async def remediate(scope: HealthScope) -> None:
    """Have the unhealthy Machines replaced by their owners, or by whoever serves the requests
    that `spec.remediation.templateRef` is a template of. One that fails is in no other's way."""
    requests = requests_of(scope)
    errors = list[Exception]()
    for target, verdict in scope.findings:
        try:
            match verdict:
                case Unhealthy():
                    await _remediate(scope, target, verdict, requests)
                case Healthy():
                    await mark(scope, target, health_marks(verdict))
                    if requests is not None:
                        await requests.withdraw(target)
                case Undecided():
                    pass
        except Exception as error:
            errors.append(error)
    _raise(errors)


async def _remediate(
    scope: HealthScope, target: Target, verdict: Unhealthy, requests: Requests | None
) -> None:
    machine, failure = target.machine, None
    if requests is None:
        asked = owner_marks(machine)
    else:
        asked, failure = await requests.file(target)
    if await mark(scope, target, health_marks(verdict), asked):
        message = f"Machine {machine.key} has been marked as unhealthy by {scope.check.key}"
        scope.tools.events.normal(machine, "MachineMarkedUnhealthy", message)
    if failure is not None:
        raise failure


def _raise(errors: list[Exception]) -> None:
    if errors:
        raise ExceptionGroup("remediation failed", errors)
