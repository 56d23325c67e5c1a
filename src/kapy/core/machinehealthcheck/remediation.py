"""Phase: report the health on the Machines, and have unhealthy Machines remediated."""

from __future__ import annotations

from kapy.core.machinehealthcheck.checks import Healthy, Undecided, Unhealthy
from kapy.core.machinehealthcheck.external import RemediationRequests, requests_of
from kapy.core.machinehealthcheck.marks import health_marks, mark, owner_marks
from kapy.core.machinehealthcheck.scope import HealthScope
from kapy.core.machinehealthcheck.targets import Target


async def report_health(scope: HealthScope) -> None:
    """Only report the health on the Machines: remediation is not allowed."""
    errors = list[Exception]()
    for target, verdict in scope.findings:
        try:
            await mark(scope, target, health_marks(verdict))
        except Exception as error:
            errors.append(error)
    _raise(errors)


async def remediate(scope: HealthScope) -> None:
    """Have unhealthy Machines replaced by their owners, or create requests from
    `spec.remediation.templateRef`. A failure of one does not stop the others.
    """
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
                        await requests.delete_request(target)
                case Undecided():
                    pass
        except Exception as error:
            errors.append(error)
    _raise(errors)


async def _remediate(
    scope: HealthScope, target: Target, verdict: Unhealthy, requests: RemediationRequests | None
) -> None:
    machine, failure = target.machine, None
    if requests is None:
        marks = owner_marks(machine)
    else:
        marks, failure = await requests.create(target)
    if await mark(scope, target, health_marks(verdict), marks):
        message = f"Machine {machine.key} has been marked as unhealthy by {scope.check.key}"
        scope.dependencies.events.normal(machine, "MachineMarkedUnhealthy", message)
    if failure is not None:
        raise failure


def _raise(errors: list[Exception]) -> None:
    if errors:
        raise ExceptionGroup("remediation failed", errors)
