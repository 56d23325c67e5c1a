"""Phases: reconcile the bootstrap config (BootstrapConfig contract) and the infrastructure
(InfraMachinePool contract) of a MachinePool.

The MachinePool refers to these objects of providers, and owns them. All its machines share the
bootstrap config.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeVar

from kapy.api.embedded import ContractVersionedObjectReference
from kapy.contract.bootstrap import BootstrapConfig
from kapy.contract.errors import ContractError, MissingField
from kapy.contract.fields import View
from kapy.contract.infra_machine_pool import InfraMachinePool
from kapy.contract.observed import Absent, Found, Observed, Unreadable
from kapy.contract.ownership import claim, ownership_patch
from kapy.core.machinepool.scope import MachinePoolScope
from kapy.engine.result import DONE, Result
from kapy.kube import Document
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.meta import owner_reference

_V = TypeVar("_V", bound=View)

_MAX_MESSAGE: Final = 10240  # of failureMessage, in the schema
_INVALID_CONFIGURATION: Final = "InvalidConfiguration"


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
    scope.bootstrap = await _get_owned(scope, bootstrap.config_ref, BootstrapConfig)
    match scope.bootstrap:
        case Unreadable(error):
            raise error
        case Absent():
            pass  # its creation enqueues the pool
        case Found(config):
            try:
                _take_data_secret_over(scope, config)
            except ContractError as error:
                scope.bootstrap = replace(scope.bootstrap, problem=error)
                raise
    return DONE


def _take_data_secret_over(scope: MachinePoolScope, config: BootstrapConfig) -> None:
    _copy_failures(scope, config)
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


async def reconcile_infrastructure(scope: MachinePoolScope) -> Result:
    """Own the infrastructure, and copy its list of machines once it is provisioned."""
    ref = scope.pool.spec.template.spec.infrastructure_ref
    scope.infrastructure = await _get_owned(scope, ref, InfraMachinePool)
    match scope.infrastructure:
        case Unreadable(error):
            raise error
        case Absent():
            _handle_missing(scope)
        case Found(infra):
            try:
                _take_infrastructure_over(scope, infra)
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
        scope.legacy.failure_reason = _INVALID_CONFIGURATION
        scope.legacy.failure_message = (
            f"MachinePool infrastructure resource {ref.kind} {scope.namespace}/{ref.name} "
            "has been deleted after being ready"
        )


def _take_infrastructure_over(scope: MachinePoolScope, infra: InfraMachinePool) -> None:
    pool = scope.pool
    _copy_failures(scope, infra)
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


async def _get_owned(
    scope: MachinePoolScope, ref: ContractVersionedObjectReference, view: type[_V]
) -> Observed[_V]:
    """Return the object that the pool refers to, with the pool as its controller and the Cluster's
    label. The creation of a missing one enqueues the pool.
    """
    pool, dependencies = scope.pool, scope.dependencies
    result = await dependencies.external.get(ref, scope.namespace, view)
    if not isinstance(result, Found):
        return result
    owner = owner_reference(pool, controller=True, block_deletion=True)

    def patch(document: Document) -> Document:
        return ownership_patch(document, owner, cluster=pool.spec.cluster_name)

    document = result.view.document
    try:
        if not patch(document):
            return result
        resource = await dependencies.external.resource_of(document)
        document = await claim(dependencies.client, resource, document, patch)
    except NotFound:
        return await dependencies.external.get(ref, scope.namespace, view)
    except KapyError as error:
        return Unreadable(error)
    return Found(view(document, result.view.contract))


def _copy_failures(scope: MachinePoolScope, view: BootstrapConfig | InfraMachinePool) -> None:
    """Copy the terminal failure that a v1beta1 provider reports; it is never unset.

    Raises WrongType.
    """
    reason, message = view.failure_reason, view.failure_message
    if reason:
        scope.legacy.failure_reason = reason
    if message:
        group, _, version = view.document["apiVersion"].partition("/")
        kind = f"{group}/{version}, Kind={view.kind}"
        text = (
            f'Failure detected from referenced resource {kind} with name "{view.name}": {message}'
        )
        scope.legacy.failure_message = text[:_MAX_MESSAGE]
