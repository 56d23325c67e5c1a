"""Phase: reconcile the bootstrap config of a Machine (BootstrapConfig contract)."""

from __future__ import annotations

from kapy.contract.bootstrap import BootstrapConfig
from kapy.contract.errors import ContractError, FieldProblem
from kapy.contract.fields import check_readable
from kapy.contract.observed import Found, Unreadable
from kapy.core.machine.references import get_owned
from kapy.core.machine.scope import MachineScope
from kapy.engine.result import DONE, Result


async def reconcile_bootstrap(scope: MachineScope) -> Result:
    """Own the bootstrap config, and copy the name of the data Secret once it exists.

    If the config does not exist yet, its creation enqueues the Machine.
    """
    machine = scope.machine
    ref = machine.spec.bootstrap.config_ref
    if ref is None:
        return DONE
    scope.bootstrap = await get_owned(scope, ref, BootstrapConfig)
    match scope.bootstrap:
        case Unreadable(error):
            raise error
        case Found(config):
            try:
                _take_over(scope, config)
                check_readable(
                    config, BootstrapConfig.failure_reason, BootstrapConfig.failure_message
                )
            except ContractError as error:
                scope.bootstrap = Found(config, error)
                raise
    return DONE


def _take_over(scope: MachineScope, config: BootstrapConfig) -> None:
    machine = scope.machine
    if machine.spec.bootstrap.data_secret_name is not None:
        machine.status.initialization.bootstrap_data_secret_created = True
        return
    if config.deleting or not config.data_secret_created:
        return
    name = BootstrapConfig.data_secret_name.require(config)
    if not name:
        raise FieldProblem(BootstrapConfig.data_secret_name.path(config.contract), "is empty")
    machine.spec.bootstrap.data_secret_name = name
    machine.status.initialization.bootstrap_data_secret_created = True
