"""DevMachinePool with `backend.inMemory`: a number of equal DevMachines, and their bootstrap
tokens.

Conditions and the choice of deleted machines follow upstream's `backends/docker`. A DevMachine
stores its version and failure domain in annotations: its Machine learns the version only from its
Node, and the pool's version may have changed by then.

A real cluster survives the restart of a manager, and so does the bootstrap token in a pool's boot
data. So the tokens are restored in a workload cluster that is recreated after a restart. Without
them, the bootstrap provider would generate new boot data at each start.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final

from kapy.api.dev_machine import DevMachine, InMemoryMachineBackendSpec
from kapy.api.dev_machine_pool import DevMachinePool
from kapy.api.infrastructure import PoolInstance
from kapy.api.machine_pool import MachinePool
from kapy.api.names import ConditionType, Label
from kapy.kube import Document, Key
from kapy.kube.model import encode
from kapy.providers.inmemory.backend import FAILURE_DOMAIN, VERSION, is_in_memory
from kapy.providers.inmemory.fleet import InMemoryClusters
from kapy.providers.inmemory.workload.kubeadm import ensure_token
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
from kapy.sdk.controllers import Informer

Context = MachinePoolContext[DevMachinePool]
KIND: Final = DevMachine.RESOURCE.kind

_LIFE: Final = timedelta(hours=24)
"""The remaining lifetime of a restored token. The boot data does not tell when the token was made,
so it is kubeadm's default."""
_TOKEN: Final = re.compile(rb"\btoken: ([a-z0-9]{6})\.([a-z0-9]{16})\b")
_BY_CLUSTER: Final = "inmemory/pool-cluster"


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


class PoolTokens:
    """Finds the bootstrap tokens of MachinePools. secrets: the cached Secrets of Clusters, with the
    boot data.
    """

    def __init__(
        self, runtime: Runtime, in_memory: InMemoryClusters, secrets: Informer[Document]
    ) -> None:
        self._in_memory = in_memory
        self._secrets = secrets
        self._pools = runtime.cache.informer(MachinePool.RESOURCE)
        self._pools.add_index(_BY_CLUSTER, _cluster_of)

    def restore(self, cluster: Key) -> None:
        """Restore the tokens of the pools of a cluster that was just recreated."""
        workload = self._in_memory.get(cluster)
        if workload is None:
            return
        for pool in self._pools.list_by_index(_BY_CLUSTER, str(cluster)):
            template = pool["spec"]["template"]["spec"]
            name = template.get("bootstrap", {}).get("dataSecretName")
            secret = self._secrets.raw(Key(cluster.namespace, name)) if name else None
            if secret is not None and (match := _TOKEN.search(_boot_data(secret))):
                token_id, token_secret = (group.decode() for group in match.groups())
                end = self._in_memory.clock() + _LIFE
                ensure_token(workload.objects, token_id, token_secret, end)


def _cluster_of(pool: Document) -> Iterable[str]:
    name = (pool.get("spec") or {}).get("clusterName")
    return (str(Key(pool["metadata"]["namespace"], name)),) if name else ()


def _boot_data(secret: Document) -> bytes:
    try:
        return base64.b64decode((secret.get("data") or {}).get("value", ""), validate=True)
    except (binascii.Error, ValueError):
        return b""
