"""DevCluster with `backend.inMemory`: an address, and a workload cluster behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from kapy.api.condition import Condition
from kapy.api.dev_cluster import DevCluster
from kapy.api.names import Annotation, ConditionType, Label, Reason
from kapy.kube import Document, Key
from kapy.kube.names import SECRETS
from kapy.providers.inmemory.backend import is_in_memory
from kapy.providers.inmemory.fleet import InMemoryClusters
from kapy.providers.inmemory.sockets import PORT
from kapy.remote.kubeconfig_secret import moved_data
from kapy.remote.secrets import KUBECONFIG, secret_key
from kapy.sdk import (
    ClusterContext,
    ClusterProvisioned,
    Endpoint,
    InfraClusterProvider,
    Released,
    Runtime,
    Waiting,
    conditions,
)
from kapy.sdk.controllers import Change
from kapy.sdk.load_balancer import ControlPlaneLoadBalancer, Member

Context = ClusterContext[DevCluster]
BY_ENDPOINT: Final = "inmemory/endpoint"
AVAILABLE: Final = ConditionType.LOAD_BALANCER_AVAILABLE


class DevClusters(InfraClusterProvider[DevCluster], ControlPlaneLoadBalancer[DevCluster]):
    """Reconciles DevClusters with the in-memory backend, and their simulated load balancers.
    opened: called for each cluster that was created in this process.
    """

    reports_ready = False  # upstream's provider reports no Ready condition

    def __init__(
        self, runtime: Runtime, in_memory: InMemoryClusters, opened: Callable[[Key], None]
    ) -> None:
        self._in_memory = in_memory
        self._opened = opened
        self._infra = runtime.cache.informer(DevCluster.RESOURCE)
        self._infra.add_index(BY_ENDPOINT, _endpoints)
        self._infra.subscribe(self._forget)
        self._secrets = runtime.cache.informer(SECRETS, labels=Label.CLUSTER_NAME)
        self._client = runtime.client

    def serves(self, document: Document) -> bool:
        return is_in_memory(document)

    async def endpoint(self, context: Context) -> Endpoint | Waiting:
        in_memory, endpoint = self._in_memory.get(context.cluster), context.endpoint
        if endpoint is None:
            endpoint = in_memory.endpoint if in_memory else self._free_endpoint(context)
        elif self._in_memory.is_elsewhere(endpoint):
            new = in_memory.endpoint if in_memory else self._free_endpoint(context, endpoint.port)
            if (waiting := await self._move(context, new)) is not None:
                return waiting
            endpoint = new
        workload = await self._in_memory.request(
            "PUT",
            f"/clusters/{context.cluster.name}",
            partial(self._in_memory.open, context.cluster, context.uid, endpoint),
        )
        if workload is not in_memory:
            self._opened(context.cluster)
        return endpoint

    async def _move(self, context: Context, new: Endpoint) -> Waiting | None:
        """Write the address of this program into the kubeconfig and the DevCluster, as upstream's
        provider does; the Cluster keeps the first one. None when both are written."""
        secret = self._secrets.raw(secret_key(context.cluster, KUBECONFIG))
        if secret is None:  # its change does not enqueue the DevCluster
            return Waiting(message=f"the kubeconfig Secret of Cluster {context.cluster} is missing")
        server = f"https://{new.host}:{new.port}"
        if (data := moved_data(secret, context.cluster.name, server)) is not None:
            await self._client.patch(SECRETS, Key.of(secret), {"data": data})
        endpoint = {"host": new.host, "port": new.port}
        patch = {"spec": {"controlPlaneEndpoint": endpoint}}
        await self._client.patch(DevCluster.RESOURCE, context.key, patch)
        return None

    async def register(self, member: Member) -> None:
        if (workload := self._in_memory.get(member.cluster)) is not None:
            path = f"/clusters/{member.cluster.name}/members/{member.key.name}"
            act = partial(workload.register, member.key.name)
            await self._in_memory.request("PUT", path, act)

    async def drain(self, member: Member) -> None:
        """Keep a draining machine as a member of the load balancer. After a restart only this call
        makes it a member, and the last member of a cluster has to respond until its Machine is
        gone.
        """
        await self.register(member)

    async def deregister(self, member: Member) -> None:
        if (workload := self._in_memory.get(member.cluster)) is not None:
            path = f"/clusters/{member.cluster.name}/members/{member.key.name}"
            act = partial(workload.deregister, member.key.name)
            await self._in_memory.request("DELETE", path, act)

    async def reconcile_normal(self, context: Context) -> ClusterProvisioned:
        return ClusterProvisioned(
            failure_domains=self._in_memory.failure_domains,
            annotations={Annotation.IN_MEMORY_LISTENER: str(context.cluster)},
            conditions=self._address_condition(context),
        )

    async def reconcile_delete(self, context: Context) -> Released | Waiting:
        path = f"/clusters/{context.cluster.name}"
        await self._in_memory.request(
            "DELETE", path, partial(self._in_memory.drop, context.cluster)
        )
        return Released()

    def at_address_of(self, cluster: Key) -> Iterable[Key]:
        """Return the DevClusters with the address of a workload cluster."""
        workload = self._in_memory.get(cluster)
        if workload is None:
            return ()
        text = _endpoint_text(*workload.endpoint)
        return list(self._infra.keys_by_index(BY_ENDPOINT, text))

    def _forget(self, change: Change) -> None:
        """Drop a DevCluster that vanished without its deletion steps: it was moved to another
        management cluster."""
        if change.new is not None:
            return
        metadata = change.document["metadata"]
        listener = (metadata.get("annotations") or {}).get(Annotation.IN_MEMORY_LISTENER, "")
        key = Key(*listener.split("/", 1)) if "/" in listener else Key("", listener)
        cluster = self._in_memory.get(key)
        if cluster is not None and cluster.uid == metadata["uid"]:
            self._in_memory.drop(key)

    def _address_condition(self, context: Context) -> Sequence[Condition]:
        """Return the condition of the cluster's address; none if it was never lost."""
        if self._in_memory.has_lost_address(context.cluster):
            endpoint = context.endpoint
            assert endpoint is not None
            return [_lost_condition(endpoint)]
        if AVAILABLE in context.last_conditions:
            return [conditions.true(AVAILABLE, Reason.AVAILABLE)]
        return ()

    def _free_endpoint(self, context: Context, port: int = PORT) -> Endpoint:
        # After a restart, clusters with a stored address are reopened one by one.
        return self._in_memory.free_endpoint(
            context.cluster,
            context.uid,
            lambda endpoint: bool(
                self._infra.list_by_index(BY_ENDPOINT, _endpoint_text(*endpoint))
            ),
            port,
        )


def _lost_condition(endpoint: Endpoint) -> Condition:
    host, port = endpoint
    message = (
        f"another process of this machine has {host}:{port}: this plane reaches the cluster, "
        "kubectl does not. It will when that process has ended: `kapy planes` lists planes, "
        f"`ss -ltnp 'sport = :{port}'` names the process"
    )
    return conditions.false(AVAILABLE, Reason.NOT_AVAILABLE, message)


def _endpoints(infra: Document) -> Iterable[str]:
    endpoint = (infra.get("spec") or {}).get("controlPlaneEndpoint") or {}
    return (
        (_endpoint_text(endpoint["host"], endpoint.get("port", 0)),) if endpoint.get("host") else ()
    )


def _endpoint_text(host: str, port: int) -> str:
    return f"{host}:{port}"
