"""Phase: the machine behind a Machine (InfraMachine contract)."""

from __future__ import annotations

from kapy.contract.infra_machine import InfraMachine
from kapy.contract.observed import Absent, Found, Unreadable
from kapy.core.machine.references import owned
from kapy.core.machine.scope import MachineScope
from kapy.engine.result import DONE, Result


async def reconcile_infrastructure(scope: MachineScope) -> Result:
    """Own the infrastructure machine, and take over where it is when it is provisioned.

    One that does not exist (yet, or any more) wakes the Machine when it appears.
    """
    scope.infrastructure = await owned(scope, scope.machine.spec.infrastructure_ref, InfraMachine)
    match scope.infrastructure:
        case Unreadable(error):
            raise error
        case Found(infra):
            _take_over(scope, infra)
        case Absent():
            pass
    return DONE


def _take_over(scope: MachineScope, infra: InfraMachine) -> None:
    machine = scope.machine
    done = machine.status.initialization
    if infra.deleting or not (infra.provisioned or done.infrastructure_provisioned):
        return
    provider_id = infra.provider_id
    if not provider_id:
        return
    if (addresses := infra.addresses) is not None:
        machine.status.addresses = list(addresses)
    if (domain := infra.spec_failure_domain) is not None:
        machine.spec.failure_domain = domain
    if (domain := infra.failure_domain) is not None:
        machine.status.failure_domain = domain
    machine.spec.provider_id = provider_id
    done.infrastructure_provisioned = True
