"""DevMachine with `backend.inMemory`: a simulated machine with start-up durations.

Every reconcile writes the machine's components into its workload cluster, so a restarted process
recreates everything. Order, conditions and reasons follow upstream's `backends/inmemory`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.dev_machine import DevMachine, InMemoryMachineBackendSpec
from kapy.api.machine import Machine
from kapy.api.names import ConditionType, Reason
from kapy.api.times import moment
from kapy.api.wording import LOOK_AT_LOGS
from kapy.kube import Document
from kapy.kube.pki import KeyPair
from kapy.providers.inmemory.backend import FAILURE_DOMAIN, VERSION, is_in_memory
from kapy.providers.inmemory.fleet import InMemory
from kapy.providers.inmemory.startup import (
    BadDuration,
    Durations,
    Progress,
    not_started,
    progress,
    reported,
)
from kapy.providers.inmemory.status_v1beta1 import reported_v1beta1
from kapy.providers.inmemory.workload.cluster import Host, Milestones, WorkloadCluster
from kapy.providers.inmemory.workload.kubeadm import Settings
from kapy.remote.secrets import CLUSTER_CA, ETCD_CA, key_pair
from kapy.sdk import (
    InfraMachineProvider,
    Keychain,
    MachineOrder,
    Provisioned,
    Released,
    Runtime,
    Waiting,
    conditions,
)

BOOTSTRAPPED: Final = "machine.inmemory.infrastructure.cluster.x-k8s.io/bootstrapped"
"""Annotation of a Machine whose parts all ran once: it does not take its time again."""

Order = MachineOrder[DevMachine]


class DevMachines(InfraMachineProvider[DevMachine]):
    """Machines of the in-memory backend.

    They execute nothing: like upstream's, they wait for the bootstrap Secret but do not read its
    data.
    """

    needs_bootstrap_data = False

    def __init__(self, runtime: Runtime, in_memory: InMemory) -> None:
        self._runtime = runtime
        self._in_memory = in_memory
        self._keychain = Keychain.of(runtime)
        self._clusters = runtime.cache.informer(Cluster)

    def serves(self, document: Document) -> bool:
        return is_in_memory(document)

    def before_start(self, order: Order, reason: str) -> Sequence[Condition]:
        return not_started(reason, control_plane=order.control_plane)

    def for_v1beta1(self, reported: Sequence[Condition]) -> Sequence[V1Beta1Condition]:
        return reported_v1beta1(reported)

    async def converge(self, order: Order) -> Provisioned | Waiting:
        workload = self._in_memory.get(order.cluster)
        if workload is None:
            because = "the DevCluster is not there yet"
            reason = Reason.WAITING_FOR_CLUSTER_INFRASTRUCTURE_READY
            told = not_started(reason, control_plane=order.control_plane)
            if _since(order, ConditionType.VM_PROVISIONED) is not None:
                # The program was started again: the cluster of a machine that runs comes back.
                told = [order.reported.get(one.type, one) for one in told]
            return Waiting(because=because, poll_after=None, conditions=told)
        try:
            found = self._progress(order, workload)
        except BadDuration as error:
            return _bad_spec(order, error)
        return await self._started(order, workload, found)

    async def release(self, order: Order) -> Released | Waiting:
        workload = self._in_memory.get(order.cluster)
        if workload is not None:
            workload.remove(order.key.name)
        return Released()

    def _progress(self, order: Order, workload: WorkloadCluster) -> Progress:
        name, now = order.key.name, self._in_memory.clock()
        backend = order.object.spec.backend.in_memory
        assert backend is not None  # `serves` said so
        durations = Durations.of(backend, f"{self._in_memory.seed}/{order.uid}")
        reached = workload.machines.setdefault(name, Milestones(now))
        # What was reported once stays true: an earlier process may have started the machine.
        reached.vm = reached.vm or _since(order, ConditionType.VM_PROVISIONED)
        reached.node = reached.node or _since(order, ConditionType.NODE_PROVISIONED)
        if _was_bootstrapped(order):
            durations = Durations.of(InMemoryMachineBackendSpec(), "")
        return progress(durations, reached, now, control_plane=order.control_plane)

    async def _started(
        self, order: Order, workload: WorkloadCluster, found: Progress
    ) -> Provisioned | Waiting:
        now = self._in_memory.clock()
        host = _host(order)
        told = reported(found, control_plane=order.control_plane)
        if not found.vm:
            assert found.due is not None
            return Waiting(
                because="the VM starts",
                # A timer, as it simulates time that a real machine would take.
                poll_after=found.due - now,
                conditions=told,
            )
        if found.node:
            workload.start_node(host)
        if found.etcd:
            authority = await self._authority(order, ETCD_CA)
            workload.start_etcd(host, authority, order.bootstrap_data)
        if found.api_server and not await self._start_api_server(order, workload, host):
            told[-1] = conditions.false(
                ConditionType.API_SERVER_PROVISIONED, Reason.INTERNAL_ERROR, LOOK_AT_LOGS
            )
        elif found.api_server or (found.node and not order.control_plane):
            await self._bootstrapped(order)
        return Provisioned(
            provider_id=host.provider_id,
            failure_domain=order.failure_domain or _noted(order, FAILURE_DOMAIN),
            conditions=told,
            look_again=None if found.due is None else found.due - now,
            because="the machine starts",
        )

    async def _start_api_server(self, order: Order, workload: WorkloadCluster, host: Host) -> bool:
        """Start the API server; False while the cluster's CA Secret does not exist."""
        authority = await self._authority(order, CLUSTER_CA)
        cluster = self._clusters.get(order.cluster)
        if authority is None or cluster is None:
            return False
        settings = Settings.of(cluster, order.version, workload.url, authority.certificate)
        workload.start_api_server(host, authority, settings, order.bootstrap_data)
        return True

    async def _authority(self, order: Order, purpose: str) -> KeyPair | None:
        secret = await self._keychain.secret(order.cluster, purpose)
        return None if secret is None else key_pair(secret)

    async def _bootstrapped(self, order: Order) -> None:
        machine = order.machine
        if machine is None or BOOTSTRAPPED in machine.metadata.annotations:
            return
        patch: Document = {"metadata": {"annotations": {BOOTSTRAPPED: ""}}}
        client = self._runtime.client
        # Others write its conditions at the same time.
        async with client.turns.of(Machine.RESOURCE, machine.key):
            await client.patch(Machine.RESOURCE, machine.key, patch)


def _host(order: Order) -> Host:
    name = order.key.name
    return Host(
        name=name,
        uid=order.uid,
        provider_id=f"in-memory://{name}",
        version=_noted(order, VERSION) or order.version,
        control_plane=order.control_plane,
    )


def _noted(order: Order, name: str) -> str:
    """The annotation of the machine's pool, "" if the machine is in no pool."""
    return order.object.metadata.annotations.get(name, "")


def _was_bootstrapped(order: Order) -> bool:
    return order.machine is not None and BOOTSTRAPPED in order.machine.metadata.annotations


def _since(order: Order, type_: str) -> datetime | None:
    found = order.reported.get(type_)
    if found is None or found.status != conditions.TRUE:
        return None
    return moment(found.last_transition_time)


def _bad_spec(order: Order, error: BadDuration) -> Waiting:
    told = not_started(Reason.INTERNAL_ERROR, control_plane=order.control_plane)
    told[0].message = str(error)
    return Waiting(because=str(error), poll_after=None, conditions=told)
