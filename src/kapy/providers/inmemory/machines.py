"""DevMachine with `backend.inMemory`: a simulated machine with start-up durations.

Every reconcile writes the machine's components into its workload cluster, so a restarted process
recreates everything. Order, conditions and reasons follow upstream's `backends/inmemory`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
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
from kapy.providers.inmemory.fleet import InMemoryClusters
from kapy.providers.inmemory.startup import (
    BadDuration,
    Durations,
    Progress,
    progress,
    reported,
    reported_v1beta1,
    waiting_conditions,
)
from kapy.providers.inmemory.workload.cluster import Host, Milestones, WorkloadCluster
from kapy.providers.inmemory.workload.kubeadm import Settings
from kapy.remote.secrets import CLUSTER_CA, ETCD_CA, key_pair
from kapy.sdk import (
    InfraMachineProvider,
    MachineContext,
    Provisioned,
    Released,
    Runtime,
    Waiting,
    conditions,
)
from kapy.sdk.certificates import ClusterCertificates

BOOTSTRAPPED: Final = "machine.inmemory.infrastructure.cluster.x-k8s.io/bootstrapped"
"""Annotation of a Machine whose parts all ran once: it does not take its time again."""

Context = MachineContext[DevMachine]


class DevMachines(InfraMachineProvider[DevMachine]):
    """Machines of the in-memory backend.

    They execute nothing: like upstream's, they wait for the bootstrap Secret but do not read its
    data.
    """

    needs_bootstrap_data = False

    def __init__(self, runtime: Runtime, in_memory: InMemoryClusters) -> None:
        self._runtime = runtime
        self._in_memory = in_memory
        self._keychain = ClusterCertificates.of(runtime)
        self._clusters = runtime.cache.informer(Cluster)

    def serves(self, document: Document) -> bool:
        return is_in_memory(document)

    def before_start(self, context: Context, reason: str) -> Sequence[Condition]:
        return waiting_conditions(reason, control_plane=context.control_plane)

    def for_v1beta1(self, reported: Sequence[Condition]) -> Sequence[V1Beta1Condition]:
        return reported_v1beta1(reported)

    async def reconcile_normal(self, context: Context) -> Provisioned | Waiting:
        workload = self._in_memory.get(context.cluster)
        if workload is None:
            because = "the DevCluster is not there yet"
            reason = Reason.WAITING_FOR_CLUSTER_INFRASTRUCTURE_READY
            result = waiting_conditions(reason, control_plane=context.control_plane)
            if _since(context, ConditionType.VM_PROVISIONED) is not None:
                # After a restart of the program, recreate the cluster of a running machine.
                result = [
                    context.last_conditions.get(condition.type, condition) for condition in result
                ]
            return Waiting(message=because, requeue_after=None, conditions=result)
        try:
            value = self._progress(context, workload)
        except BadDuration as error:
            return _bad_spec(context, error)
        return await self._start(context, workload, value)

    async def reconcile_delete(self, context: Context) -> Released | Waiting:
        workload = self._in_memory.get(context.cluster)
        if workload is not None:
            act = partial(workload.remove, context.key.name)
            await self._in_memory.request("DELETE", f"/machines/{context.key.name}", act)
        return Released()

    def _progress(self, context: Context, workload: WorkloadCluster) -> Progress:
        name, now = context.key.name, self._in_memory.clock()
        backend = context.object.spec.backend.in_memory
        assert backend is not None  # `serves` said so
        durations = Durations.of(backend, f"{self._in_memory.seed}/{context.uid}")
        reached = workload.machines.setdefault(name, Milestones(now))
        # A reported milestone stays reached: an earlier process may have started the machine.
        reached.vm = reached.vm or _since(context, ConditionType.VM_PROVISIONED)
        reached.node = reached.node or _since(context, ConditionType.NODE_PROVISIONED)
        if _was_bootstrapped(context):
            durations = Durations.of(InMemoryMachineBackendSpec(), "")
        return progress(durations, reached, now, control_plane=context.control_plane)

    async def _start(
        self, context: Context, workload: WorkloadCluster, value: Progress
    ) -> Provisioned | Waiting:
        now = self._in_memory.clock()
        host = _host(context)
        result = reported(value, control_plane=context.control_plane)
        if not value.vm:
            assert value.due is not None
            return Waiting(
                message="the VM starts",
                # A timer, as it simulates time that a real machine would take.
                requeue_after=value.due - now,
                conditions=result,
            )
        if value.node:
            await self._start_part("node", workload, host, partial(workload.start_node, host))
        if value.etcd:
            authority = await self._authority(context, ETCD_CA)
            act = partial(workload.start_etcd, host, authority, context.bootstrap_data)
            await self._start_part("etcd", workload, host, act)
        if value.api_server and not await self._start_api_server(context, workload, host):
            result[-1] = conditions.false(
                ConditionType.API_SERVER_PROVISIONED, Reason.INTERNAL_ERROR, LOOK_AT_LOGS
            )
        elif value.api_server or (value.node and not context.control_plane):
            await self._bootstrap(context)
        return Provisioned(
            provider_id=host.provider_id,
            failure_domain=context.failure_domain or _pool_annotation(context, FAILURE_DOMAIN),
            conditions=result,
            requeue_after=None if value.due is None else value.due - now,
            requeue_reason="the machine starts",
        )

    async def _start_api_server(
        self, context: Context, workload: WorkloadCluster, host: Host
    ) -> bool:
        """Start the API server; False while the cluster's CA Secret does not exist."""
        authority = await self._authority(context, CLUSTER_CA)
        cluster = self._clusters.get(context.cluster)
        if authority is None or cluster is None:
            return False
        settings = Settings.of(cluster, context.version, workload.url, authority.certificate)
        act = partial(workload.start_api_server, host, authority, settings, context.bootstrap_data)
        await self._start_part("api-server", workload, host, act)
        return True

    async def _start_part(
        self, part: str, workload: WorkloadCluster, host: Host, act: Callable[[], None]
    ) -> None:
        """Start a part of a machine. A request that comes after the machine was removed, as it was
        late, starts nothing."""

        def start() -> None:
            if host.name in workload.machines:
                act()

        await self._in_memory.request("PUT", f"/machines/{host.name}/{part}", start)

    async def _authority(self, context: Context, purpose: str) -> KeyPair | None:
        secret = await self._keychain.secret(context.cluster, purpose)
        return None if secret is None else key_pair(secret)

    async def _bootstrap(self, context: Context) -> None:
        machine = context.machine
        if machine is None or BOOTSTRAPPED in machine.metadata.annotations:
            return
        patch: Document = {"metadata": {"annotations": {BOOTSTRAPPED: ""}}}
        client = self._runtime.client
        # Other controllers write its conditions at the same time.
        async with client.turns.of(Machine.RESOURCE, machine.key):
            await client.patch(Machine.RESOURCE, machine.key, patch)


def _host(context: Context) -> Host:
    name = context.key.name
    return Host(
        name=name,
        uid=context.uid,
        provider_id=f"in-memory://{name}",
        version=_pool_annotation(context, VERSION) or context.version,
        control_plane=context.control_plane,
    )


def _pool_annotation(context: Context, name: str) -> str:
    """Return the annotation of the machine's pool, "" if the machine is in no pool."""
    return context.object.metadata.annotations.get(name, "")


def _was_bootstrapped(context: Context) -> bool:
    return context.machine is not None and BOOTSTRAPPED in context.machine.metadata.annotations


def _since(context: Context, type_: str) -> datetime | None:
    condition = context.last_conditions.get(type_)
    if condition is None or condition.status != conditions.TRUE:
        return None
    return moment(condition.last_transition_time)


def _bad_spec(context: Context, error: BadDuration) -> Waiting:
    result = waiting_conditions(Reason.INTERNAL_ERROR, control_plane=context.control_plane)
    result[0].message = str(error)
    return Waiting(message=str(error), requeue_after=None, conditions=result)
