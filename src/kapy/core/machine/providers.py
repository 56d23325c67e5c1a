"""Phases: reconcile the bootstrap config (BootstrapConfig contract) and the infrastructure
(InfraMachine contract) of a Machine.

The Machine refers to these objects of providers, and owns them.
"""

from __future__ import annotations

from typing import Final, TypeVar

from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.machine import Machine
from kapy.api.names import CLUSTER_GROUP, Label
from kapy.contract.bootstrap import BootstrapConfig
from kapy.contract.errors import ContractError, FieldProblem
from kapy.contract.fields import View, check_readable
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.observed import Absent, Found, Observed, Unreadable
from kapy.contract.ownership import ownership_patch
from kapy.core.machine.scope import MachineScope
from kapy.engine.result import DONE, Result
from kapy.kube import Document, Key
from kapy.kube.meta import owner_reference
from kapy.kube.names import split_api_version

_V = TypeVar("_V", bound=View)

_READ_ELSEWHERE: Final = (
    InfraMachine.interruptible,
    InfraMachine.failure_reason,
    InfraMachine.failure_message,
)


async def reconcile_bootstrap(scope: MachineScope) -> Result:
    """Own the bootstrap config, and copy the name of the data Secret once it exists.

    If the config does not exist yet, its creation enqueues the Machine.
    """
    machine = scope.machine
    ref = machine.spec.bootstrap.config_ref
    if ref is None:
        return DONE
    scope.bootstrap = await _get_owned(scope, ref, BootstrapConfig)
    match scope.bootstrap:
        case Unreadable(error):
            raise error
        case Found(config):
            try:
                _take_data_secret_over(scope, config)
                check_readable(
                    config, BootstrapConfig.failure_reason, BootstrapConfig.failure_message
                )
            except ContractError as error:
                scope.bootstrap = Found(config, error)
                raise
    return DONE


def _take_data_secret_over(scope: MachineScope, config: BootstrapConfig) -> None:
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


async def reconcile_infrastructure(scope: MachineScope) -> Result:
    """Own the infrastructure machine, and copy its fields once it is provisioned.

    If it does not exist (yet, or any more), its creation enqueues the Machine.
    """
    scope.infrastructure = await _get_owned(
        scope, scope.machine.spec.infrastructure_ref, InfraMachine
    )
    match scope.infrastructure:
        case Unreadable(error):
            raise error
        case Found(infra):
            try:
                _take_infrastructure_over(scope, infra)
                check_readable(infra, *_READ_ELSEWHERE)
            except ContractError as error:
                scope.infrastructure = Found(infra, error)
                raise
        case Absent():
            pass
    return DONE


def _take_infrastructure_over(scope: MachineScope, infra: InfraMachine) -> None:
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


async def _get_owned(
    scope: MachineScope, ref: ContractVersionedObjectReference, view: type[_V]
) -> Observed[_V]:
    """Return the object that the Machine refers to, with the Machine as its only controller.

    MachineSets and control planes are owners of their clones at first, because the Machine does not
    exist then: the Machine replaces them.
    """
    machine = scope.machine
    owner = owner_reference(machine, controller=True, block_deletion=True)

    def patch(document: Document) -> Document:
        return ownership_patch(
            document,
            owner,
            cluster=machine.spec.cluster_name,
            without=lambda value: _only_until_the_machine_exists(scope, value),
        )

    return await scope.dependencies.external.get_owned(ref, scope.namespace, view, patch)


def _only_until_the_machine_exists(scope: MachineScope, owner: Document) -> bool:
    group, _ = split_api_version(owner["apiVersion"])
    if group == CLUSTER_GROUP and owner["kind"] == "MachineSet":
        return True
    control_plane = scope.cluster.spec.control_plane_ref
    if control_plane is None or Label.CONTROL_PLANE not in scope.machine.metadata.labels:
        return False
    return (group, owner["kind"]) == (control_plane.api_group, control_plane.kind)
