"""DevMachinePool with `backend.inMemory`: a number of equal DevMachines.

Conditions and the choice of deleted machines follow upstream's `backends/docker`. A DevMachine
stores its version and failure domain in annotations: its Machine learns the version only from its
Node, and the pool's version may have changed by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kapy.api.dev_machine import DevMachine, InMemoryMachineBackendSpec
from kapy.api.dev_machine_pool import DevMachinePool
from kapy.api.infrastructure import PoolInstance
from kapy.api.names import ConditionType, Label
from kapy.kube import Document, Key
from kapy.kube.model import encode
from kapy.providers.inmemory.backend import FAILURE_DOMAIN, VERSION, is_in_memory
from kapy.providers.inmemory.fleet import InMemoryClusters
from kapy.sdk import (
    InfraMachinePoolProvider,
    MachinePoolContext,
    PoolMachines,
    PoolProvisioned,
    Released,
    Runtime,
    Waiting,
    conditions,
    pick_fewest,
    pool_result,
)

Context = MachinePoolContext[DevMachinePool]
KIND: Final = DevMachine.RESOURCE.kind


class DevMachinePools(InfraMachinePoolProvider[DevMachinePool]):
    """Pools of the in-memory backend. in_memory: the clusters. machines: their DevMachines. A pool
    without a backend is in memory if its cluster is: upstream's pools have no `backend.inMemory`,
    so extensions that decode upstream's types drop it.
    """

    machine_kind = KIND
    needs_bootstrap_data = False

    def __init__(
        self, runtime: Runtime, in_memory: InMemoryClusters, machines: PoolMachines
    ) -> None:
        self._in_memory = in_memory
        self._machines = machines
        self._typed = runtime.cache.informer(DevMachine).decode_shared  # read only

    def serves(self, document: Document) -> bool:
        if is_in_memory(document):
            return True
        metadata = document["metadata"]
        cluster = (metadata.get("labels") or {}).get(Label.CLUSTER_NAME, "")
        in_memory = self._in_memory.get(Key(metadata.get("namespace", ""), cluster))
        return in_memory is not None and not (document.get("spec") or {}).get("backend")

    async def reconcile_normal(self, context: Context) -> PoolProvisioned | Waiting:
        documents = await self._machines.ensure(
            context,
            _NewMachine(context, self._machines.of(context)),
            lambda value: _is_current(self._typed(value), context),
        )
        machines = [self._typed(document) for document in documents]
        return pool_result(
            context,
            [_instance(machine) for machine in machines],
            provider_id=f"dev:////{context.cluster.name}-dmp-{context.key.name}",
        )

    async def reconcile_delete(self, context: Context) -> Released | Waiting:
        return await self._machines.delete(context)


class _NewMachine:
    """Creates DevMachines; each goes to the failure domain with the fewest machines."""

    def __init__(self, context: Context, others: Sequence[Document]) -> None:
        self._order = context
        self._domains = [_annotation(item, FAILURE_DOMAIN) for item in others]

    def __call__(self) -> Document:
        context = self._order
        annotations = {VERSION: context.version}
        if domain := pick_fewest(context.failure_domains, self._domains, self._domains):
            annotations[FAILURE_DOMAIN] = domain
            self._domains.append(domain)
        spec = {"backend": {"inMemory": encode(_backend(context))}}
        return {"metadata": {"annotations": annotations}, "spec": spec}


def _is_current(machine: DevMachine, context: Context) -> bool:
    """Return whether the machine has the desired version and start-up durations."""
    made_for = machine.metadata.annotations.get(VERSION, ""), machine.spec.backend.in_memory
    return made_for == (context.version, _backend(context))


def _backend(context: Context) -> InMemoryMachineBackendSpec:
    """Return the start-up durations of the pool's machines."""
    return context.object.spec.backend.in_memory or InMemoryMachineBackendSpec()


def _annotation(document: Document, name: str) -> str:
    return str((document["metadata"].get("annotations") or {}).get(name, ""))


def _instance(machine: DevMachine) -> PoolInstance:
    return PoolInstance(
        addresses=machine.status.addresses,
        instance_name=machine.metadata.name,
        provider_id=machine.spec.provider_id or None,
        version=machine.metadata.annotations.get(VERSION) or None,
        ready=conditions.is_true(machine.status.conditions, ConditionType.READY),
    )
