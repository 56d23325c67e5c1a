"""The decisions: what is true of a cluster and of a machine now, and whether it is gone yet.

Everything else of the contracts is the SDK's: owners, finalizers, waiting for the cluster and for
bootstrap data, pausing, conditions, provider IDs that stay, events, back-off.
"""

from datetime import timedelta
from pathlib import Path

from kapy.sdk import (
    Address,
    ClusterContext,
    ClusterProvisioned,
    Endpoint,
    InfraClusterProvider,
    InfraMachineProvider,
    Key,
    MachineContext,
    Provider,
    Provisioned,
    Released,
    Runtime,
    Waiting,
    add_infra_cluster,
    add_infra_machine,
)

from nimbus.api import URL, Nimbus
from nimbus.cloud import Cloud
from nimbus.kinds import ADMISSION, KINDS, NimbusCluster, NimbusMachine

OfCluster = ClusterContext[NimbusCluster]
OfMachine = MachineContext[NimbusMachine]
FINALIZER = "nimbus.cluster.x-k8s.io/release"
SOON = timedelta(seconds=1)
"""The cloud tells nobody when it is done, so it is asked again."""


def network_of(cluster: Key) -> str:
    """What the network of a Cluster is called: the same after a restart, and after a move."""
    return f"{cluster.namespace}.{cluster.name}"


class Clusters(InfraClusterProvider[NimbusCluster]):
    """The network of a cluster."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    async def reconcile_normal(self, context: OfCluster) -> ClusterProvisioned | Waiting:
        name = network_of(context.cluster)
        network = await self._cloud.make_network(name, context.object.spec.region)
        return ClusterProvisioned(endpoint=context.endpoint or Endpoint(network.host, network.port))

    async def reconcile_delete(self, context: OfCluster) -> Released | Waiting:
        if await self._cloud.delete_network(network_of(context.cluster)):
            return Released()
        return Waiting(message="the network is being deleted", requeue_after=SOON)


class Machines(InfraMachineProvider[NimbusMachine]):
    """The machines of clusters."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    async def reconcile_normal(self, context: OfMachine) -> Provisioned | Waiting:
        server = await self._cloud.make_server(
            network_of(context.cluster),
            context.key.name,
            context.object.spec.size,
            context.version,
            context.bootstrap_data,
        )
        if not server.running:
            return Waiting(message=server.trouble or "the machine is booting", requeue_after=SOON)
        return Provisioned(
            provider_id=f"nimbus://{server.id}",
            addresses=[Address("InternalIP", server.address)],
        )

    async def reconcile_delete(self, context: OfMachine) -> Released | Waiting:
        if await self._cloud.delete_server(network_of(context.cluster), context.key.name):
            return Released()
        return Waiting(message="the machine is being deleted", requeue_after=SOON)


def add_to(runtime: Runtime, cloud: Cloud | None = None) -> None:
    """Add the controllers to a program. cloud: another one than usual, for tests."""
    cloud = cloud or Nimbus()
    add_infra_cluster(runtime, NimbusCluster, Clusters(cloud), finalizer=FINALIZER)
    add_infra_machine(runtime, NimbusMachine, Machines(cloud), finalizer=FINALIZER)


PROVIDER = Provider(
    name="nimbus",
    kinds=KINDS,
    admission=ADMISSION,
    add_to=add_to,
    image="registry.example.com/nimbus/provider",
    settings=[URL],
    files=Path(__file__).parent / "templates",
)
