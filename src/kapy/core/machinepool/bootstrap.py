"""Phase: reconcile the bootstrap config of a MachinePool, shared by all its machines
(BootstrapConfig contract).
"""

from __future__ import annotations

from dataclasses import replace

from kapy.contract.bootstrap import BootstrapConfig
from kapy.contract.errors import ContractError, MissingField
from kapy.contract.observed import Absent, Found, Unreadable
from kapy.core.machinepool.references import copy_failures, get_owned
from kapy.core.machinepool.scope import MachinePoolScope
from kapy.engine.result import DONE, Result


async def reconcile_bootstrap(scope: MachinePoolScope) -> Result:
    """Own the bootstrap config, and copy the name of its data Secret.

    Without a config the user provides the data Secret. Unlike a Machine's, the name follows every
    change: later machines boot with the newest data.
    """
    pool = scope.pool
    bootstrap = pool.spec.template.spec.bootstrap
    if bootstrap.config_ref is None:
        if bootstrap.data_secret_name is not None:
            pool.status.initialization.bootstrap_data_secret_created = True
        return DONE
    scope.bootstrap = await get_owned(scope, bootstrap.config_ref, BootstrapConfig)
    match scope.bootstrap:
        case Unreadable(error):
            raise error
        case Absent():
            pass  # its creation enqueues the pool
        case Found(config):
            try:
                _take_over(scope, config)
            except ContractError as error:
                scope.bootstrap = replace(scope.bootstrap, problem=error)
                raise
    return DONE


def _take_over(scope: MachinePoolScope, config: BootstrapConfig) -> None:
    copy_failures(scope, config)
    done = scope.pool.status.initialization
    if config.deleting:
        return
    if not config.data_secret_created:
        done.bootstrap_data_secret_created = bool(done.bootstrap_data_secret_created)
        return
    name = BootstrapConfig.data_secret_name.require(config)
    if not name:
        raise MissingField(BootstrapConfig.data_secret_name.path(config.contract))
    scope.pool.spec.template.spec.bootstrap.data_secret_name = name
    done.bootstrap_data_secret_created = True
