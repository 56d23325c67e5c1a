"""The decisions: what is true of a cluster and of a machine now, and whether it is gone yet.

Everything else of the contracts is the SDK's: owners, finalizers, waiting for the cluster and for
bootstrap data, pausing, conditions, provider IDs that stay, events, back-off.
"""

from datetime import timedelta
from pathlib import Path

from kapy.sdk import (
    Address,
    ClusterOrder,
    ClusterProvisioned,
    Endpoint,
    InfraClusterProvider,
    InfraMachineProvider,
    Key,
    MachineOrder,
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

OfCluster = ClusterOrder[NimbusCluster]
OfMachine = MachineOrder[NimbusMachine]
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

    async def converge(self, order: OfCluster) -> ClusterProvisioned | Waiting:
        name = network_of(order.cluster)
        network = await self._cloud.make_network(name, order.object.spec.region)
        return ClusterProvisioned(endpoint=order.endpoint or Endpoint(network.host, network.port))

    async def release(self, order: OfCluster) -> Released | Waiting:
        if await self._cloud.delete_network(network_of(order.cluster)):
            return Released()
        return Waiting(because="the network is being deleted", poll_after=SOON)


class Machines(InfraMachineProvider[NimbusMachine]):
    """The machines of clusters."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    async def converge(self, order: OfMachine) -> Provisioned | Waiting:
        server = await self._cloud.make_server(
            network_of(order.cluster),
            order.key.name,
            order.object.spec.size,
            order.version,
            order.bootstrap_data,
        )
        if not server.running:
            return Waiting(because=server.trouble or "the machine is booting", poll_after=SOON)
        return Provisioned(
            provider_id=f"nimbus://{server.id}",
            addresses=[Address("InternalIP", server.address)],
        )

    async def release(self, order: OfMachine) -> Released | Waiting:
        if await self._cloud.delete_server(network_of(order.cluster), order.key.name):
            return Released()
        return Waiting(because="the machine is being deleted", poll_after=SOON)


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
