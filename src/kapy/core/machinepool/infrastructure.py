"""Phase: reconcile the infrastructure of a MachinePool (InfraMachinePool contract)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kapy.contract.errors import ContractError
from kapy.contract.infra_machine_pool import InfraMachinePool
from kapy.contract.observed import Absent, Found, Unreadable
from kapy.core.machinepool.references import copy_failures, get_owned
from kapy.core.machinepool.scope import MachinePoolScope
from kapy.engine.result import DONE, Result

INVALID_CONFIGURATION: Final = "InvalidConfiguration"


async def reconcile_infrastructure(scope: MachinePoolScope) -> Result:
    """Own the infrastructure, and copy its list of machines once it is provisioned."""
    ref = scope.pool.spec.template.spec.infrastructure_ref
    scope.infrastructure = await get_owned(scope, ref, InfraMachinePool)
    match scope.infrastructure:
        case Unreadable(error):
            raise error
        case Absent():
            _handle_missing(scope)
        case Found(infra):
            try:
                _take_over(scope, infra)
            except ContractError as error:
                scope.infrastructure = replace(scope.infrastructure, problem=error)
                raise
    return DONE


def _handle_missing(scope: MachinePoolScope) -> None:
    """Report a terminal failure if the infrastructure existed before. Otherwise do nothing: its
    creation enqueues the pool.
    """
    ref = scope.pool.spec.template.spec.infrastructure_ref
    if scope.pool.status.initialization.infrastructure_provisioned and not scope.pool.deleting:
        scope.legacy.failure_reason = INVALID_CONFIGURATION
        scope.legacy.failure_message = (
            f"MachinePool infrastructure resource {ref.kind} {scope.namespace}/{ref.name} "
            "has been deleted after being ready"
        )


def _take_over(scope: MachinePoolScope, infra: InfraMachinePool) -> None:
    pool = scope.pool
    copy_failures(scope, infra)
    scope.has_machines = bool(infra.infrastructure_machine_kind)
    done = pool.status.initialization
    if infra.deleting:
        return
    done.infrastructure_provisioned = infra.provisioned or bool(done.infrastructure_provisioned)
    if not done.infrastructure_provisioned:
        return
    ids = list(infra.provider_id_list or ())
    if (replicas := infra.replicas) is not None:
        pool.status.replicas = replicas
    if not ids and pool.status.replicas:
        return  # it has machines, but does not know their IDs yet
    if ids != pool.spec.provider_id_list:
        pool.spec.provider_id_list = ids
        legacy = scope.legacy
        legacy.ready_replicas = legacy.available_replicas = 0
        legacy.unavailable_replicas = pool.status.replicas or 0
