"""Phases: create a Machine for each infrastructure machine of the pool, if the provider has such
objects.

The Machine represents a machine that the provider created; nothing is created for it. So it has no
bootstrap config, and its version is that of its Node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import ConditionType, Label, Reason
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import false, get, true
from kapy.contract.errors import ContractError
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.observed import Found
from kapy.core.machinepool.scope import MachinePoolScope, Mark
from kapy.engine.cache import Informer
from kapy.engine.controller import STATUS_DEBOUNCE
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, NotYet, Result
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.meta import owner_reference
from kapy.kube.model import encode
from kapy.kube.names import GroupKind, Resource, split_api_version
from kapy.kube.qualified_names import label_value
from kapy.remote.nodes import nodes_with

BY_POOL: Final = "pool"
_MANAGER: Final = "machinepool-controller"


def pool_labels(document: Document) -> Iterable[str]:
    """Return the index value of Machines and infrastructure machines: their pool."""
    metadata = document["metadata"]
    labels = metadata.get("labels") or {}
    if Label.POOL_NAME in labels:
        cluster = labels.get(Label.CLUSTER_NAME, "")
        yield f"{metadata.get('namespace', '')}/{cluster}/{labels[Label.POOL_NAME]}"


def _machines_of(scope: MachinePoolScope, informer: Informer[Document]) -> Sequence[Document]:
    labels = _labels_of(scope.pool)
    cluster, pool = labels[Label.CLUSTER_NAME], labels[Label.POOL_NAME]
    return informer.list_by_index(BY_POOL, f"{scope.namespace}/{cluster}/{pool}")


async def reconcile_machines(scope: MachinePoolScope) -> Result:
    """Create missing Machines, and sync the others with the pool.

    No Machine is deleted here: the provider decides which machine is removed, and deletes its
    Machine.
    """
    if not isinstance(scope.infrastructure, Found) or scope.infrastructure.problem is not None:
        return DONE
    infra = scope.infrastructure.view
    if infra.deleting or not infra.infrastructure_machine_kind:
        return DONE
    group, _ = split_api_version(infra.document["apiVersion"])
    try:
        informer = await _infra_machines(scope, GroupKind(group, infra.infrastructure_machine_kind))
    except ContractError as error:
        scope.infrastructure = replace(scope.infrastructure, problem=error)
        raise
    failures: list[Exception] = []
    machines = {
        _infra_name(machine): machine
        for machine in _machines_of(scope, scope.dependencies.fleet.machines)
    }
    before, settled = scope.dependencies.synced.get(scope.pool.key, {}), dict[str, Mark]()
    for document in _machines_of(scope, informer):
        try:
            await _sync_machine(scope, document, machines, before, settled)
        except KapyError as error:
            failures.append(error)  # an error of one Machine must not stop the others
    scope.dependencies.synced[scope.pool.key] = settled
    if failures:
        raise ExceptionGroup("failed to bring Machines in line with the pool", failures)
    return DONE


async def _infra_machines(scope: MachinePoolScope, kind: GroupKind) -> Informer[Document]:
    dependencies = scope.dependencies
    resource: Resource = (await dependencies.external.resolve(kind, InfraMachine)).resource
    informer = dependencies.cache.informer(resource)
    informer.add_index(BY_POOL, pool_labels)
    dependencies.controller.watch(
        informer, dependencies.infra_machine_keys, debounce=STATUS_DEBOUNCE
    )
    if not informer.is_synced:
        raise NotYet(f"the {resource.plural} are not read yet")
    return informer


def _infra_name(machine: Document) -> str:
    name: str = machine["spec"]["infrastructureRef"]["name"]
    return name


async def _sync_machine(
    scope: MachinePoolScope,
    infra: Document,
    machines: dict[str, Document],
    before: dict[str, Mark],
    settled: dict[str, Mark],
) -> None:
    machine = machines.get(infra["metadata"]["name"])
    going = infra if machine is None else machine
    if going["metadata"].get("deletionTimestamp"):
        return
    version = _version(scope, infra, machine)
    if machine is not None:
        mark = scope.pool.metadata.generation, machine["metadata"]["resourceVersion"], version
        if before.get(_infra_name(machine)) == mark:
            settled[_infra_name(machine)] = mark
            scope.dependencies.applied.hits[Machine.RESOURCE.kind] += 1
            return
    intent = _desired_machine(scope.pool, infra, version, machine)
    if machine is None or not scope.dependencies.applied.is_no_op(machine, intent, _MANAGER):
        client = scope.dependencies.client
        machine = await client.apply(Machine.RESOURCE, intent, field_manager=_MANAGER)
    mark = scope.pool.metadata.generation, machine["metadata"]["resourceVersion"], version
    settled[_infra_name(machine)] = mark


def _version(scope: MachinePoolScope, infra: Document, machine: Document | None) -> str:
    """Return the Node's version, or the last known one if the Node is unreachable."""
    try:
        provider_id = InfraMachine(infra).provider_id
    except ContractError:
        provider_id = None  # the Machine has the provider ID
    if scope.nodes is not None and provider_id:
        for node in nodes_with(scope.nodes, provider_id):
            info = (node.get("status") or {}).get("nodeInfo") or {}
            if version := info.get("kubeletVersion"):
                return str(version)
    return "" if machine is None else str(machine["spec"].get("version", ""))


def _desired_machine(
    pool: MachinePool, infra: Document, version: str, existing: Document | None
) -> Document:
    """Return the Machine as an apply configuration. infra: the infrastructure machine, which
    determines its name.

    version: the version of the Node, "" without one. existing: the Machine that refers to the
    infrastructure machine; its uid protects against recreation.
    """
    group, _ = split_api_version(infra["apiVersion"])
    name: str = infra["metadata"]["name"]
    spec: Document = {
        "clusterName": pool.spec.cluster_name,
        "bootstrap": {"dataSecretName": ""},
        "infrastructureRef": {"apiGroup": group, "kind": infra["kind"], "name": name},
    }
    if version:
        spec["version"] = version
    return {
        "apiVersion": Machine.RESOURCE.api_version,
        "kind": Machine.RESOURCE.kind,
        "metadata": _metadata(pool, name, existing),
        "spec": spec,
    }


def _metadata(pool: MachinePool, name: str, existing: Document | None) -> Document:
    template = pool.spec.template.metadata
    owner = owner_reference(pool, controller=True, block_deletion=True)
    metadata: Document = {
        "name": name,
        "namespace": pool.metadata.namespace,
        "labels": {**template.labels, **_labels_of(pool)},
        "ownerReferences": [encode(owner)],
    }
    if existing is not None:
        metadata |= {item: existing["metadata"][item] for item in ("name", "uid")}
    if template.annotations:
        metadata["annotations"] = dict(template.annotations)
    return metadata


def _labels_of(pool: MachinePool) -> dict[str, str]:
    """Return the labels of the pool's Machines and their infrastructure machines."""
    return {
        Label.POOL_NAME: label_value(pool.metadata.name),
        Label.CLUSTER_NAME: pool.spec.cluster_name,
    }


async def read_machines(scope: MachinePoolScope) -> Result:
    """Read the pool's Machines, without those of other controllers."""
    uid = scope.pool.metadata.uid
    machines = _machines_of(scope, scope.dependencies.fleet.machines)
    scope.machines = [machine for machine in machines if _controller(machine) in ("", uid)]
    return DONE


def _controller(machine: Document) -> str:
    """Return the uid of the controller, "" if there is none."""
    owners = machine["metadata"].get("ownerReferences") or ()
    return next((str(owner["uid"]) for owner in owners if owner.get("controller")), "")


async def report_up_to_date(scope: MachinePoolScope) -> Result:
    """Set UpToDate on the Machines: only the provider replaces outdated machines."""
    machines = scope.dependencies.fleet.machine_of
    scope.machines = [
        await _machine_with_conditions(scope, machine, machines(machine).status.conditions)
        for machine in scope.machines
    ]
    return DONE


async def _machine_with_conditions(
    scope: MachinePoolScope, document: Document, conditions: Sequence[Condition]
) -> Document:
    wanted = _up_to_date(document)
    condition = get(conditions, ConditionType.UP_TO_DATE)
    state = (wanted.status, wanted.reason, wanted.message)
    if condition is not None and (condition.status, condition.reason, condition.message) == state:
        return document
    draft = Draft(scope.dependencies.client, Machine, document)
    set_condition(draft.object, wanted, scope.now)
    await draft.save()
    return draft.before


def _up_to_date(machine: Document) -> Condition:
    """Return UpToDate, which is True until the Machine is deleted."""
    of = ConditionType.UP_TO_DATE
    if machine["metadata"].get("deletionTimestamp"):
        return false(of, Reason.NOT_UP_TO_DATE, "Machine is being deleted")
    return true(of, Reason.UP_TO_DATE)
