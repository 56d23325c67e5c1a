"""Phase: reconcile the infrastructure of a Machine (InfraMachine contract)."""

from __future__ import annotations

from typing import Final

from kapy.api.machine import Machine
from kapy.contract.errors import ContractError, FieldProblem
from kapy.contract.fields import check_readable
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.observed import Absent, Found, Unreadable
from kapy.core.machine.references import get_owned
from kapy.core.machine.scope import MachineScope
from kapy.engine.result import DONE, Result
from kapy.kube import Document, Key


async def reconcile_infrastructure(scope: MachineScope) -> Result:
    """Own the infrastructure machine, and copy its fields once it is provisioned.

    If it does not exist (yet, or any more), its creation enqueues the Machine.
    """
    scope.infrastructure = await get_owned(
        scope, scope.machine.spec.infrastructure_ref, InfraMachine
    )
    match scope.infrastructure:
        case Unreadable(error):
            raise error
        case Found(infra):
            try:
                _take_over(scope, infra)
                check_readable(infra, *_READ_ELSEWHERE)
            except ContractError as error:
                scope.infrastructure = Found(infra, error)
                raise
        case Absent():
            pass
    return DONE


_READ_ELSEWHERE: Final = (
    InfraMachine.interruptible,
    InfraMachine.failure_reason,
    InfraMachine.failure_message,
)


def _take_over(scope: MachineScope, infra: InfraMachine) -> None:
    machine = scope.machine
    done = machine.status.initialization
    provisioned = infra.provisioned
    if infra.deleting or not (provisioned or done.infrastructure_provisioned):
        return
    provider_id = infra.provider_id
    if not provider_id:
        # The provider may set it later.
        return
    _check_provider_id(scope, provider_id)
    if (addresses := infra.addresses) is not None:
        machine.status.addresses = list(addresses)
    if (domain := infra.spec_failure_domain) is not None:
        machine.spec.failure_domain = domain
    if (domain := infra.failure_domain) is not None:
        machine.status.failure_domain = domain
    machine.spec.provider_id = provider_id
    done.infrastructure_provisioned = True


def _check_provider_id(scope: MachineScope, provider_id: str) -> None:
    """Check that the provider ID is immutable and unique: Nodes are matched and deleted by it.

    Without a Node the provider may still change it. Raises FieldProblem.
    """
    machine, path = scope.machine, InfraMachine.provider_id.path()
    current = machine.spec.provider_id
    if current and current != provider_id and machine.status.node_ref is not None:
        raise FieldProblem(
            path,
            f'has changed from "{current}" to "{provider_id}", but Node '
            f"{machine.status.node_ref.name} was matched by it and it must stay",
        )
    for other in scope.dependencies.fleet.machines_with(scope.cluster_key, provider_id):
        if Key.of(other) != machine.key and (current != provider_id or _is_older(other, machine)):
            raise FieldProblem(path, f'"{provider_id}" is the one of Machine {Key.of(other)} too')


def _is_older(other: Document, machine: Machine) -> bool:
    metadata = other["metadata"]
    theirs = metadata.get("creationTimestamp", ""), metadata["name"]
    return theirs < (machine.metadata.creation_timestamp or "", machine.metadata.name)
