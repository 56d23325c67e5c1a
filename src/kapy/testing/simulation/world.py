"""A management cluster on virtual time, with four managers and a cloud that outlives them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Final, TypeVar

from kapy._aio.clock import Clock, loop_clock
from kapy._aio.services import run_services
from kapy.api.kinds import KINDS
from kapy.apiserver.server import Server
from kapy.apiserver.server.kube_controller_manager import add_kube_controllers
from kapy.apps.admission import AdmissionRules
from kapy.apps.conversion import convert_documents
from kapy.apps.definitions import install_definitions
from kapy.apps.settings import EMBEDDED_GATES
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import ServerError, Unreachable
from kapy.kube.http import ADMIN
from kapy.kube.names import SECRETS, Resource
from kapy.providers.inmemory import InMemoryClusters
from kapy.providers.inmemory.workload.cluster import WorkloadCluster
from kapy.sdk import Endpoint
from kapy.testing.simulation.backups import Backups, Loss
from kapy.testing.simulation.cloud_network import CloudNetwork
from kapy.testing.simulation.container_engine import SimulatedEngine
from kapy.testing.simulation.coverage import state_of
from kapy.testing.simulation.custom_provider import PROVIDER, CustomProvider, Instance
from kapy.testing.simulation.etcd import DurableEtcd
from kapy.testing.simulation.event_loop import PROCESS
from kapy.testing.simulation.extension import NewExtension
from kapy.testing.simulation.foreign_control_plane import FOREIGN, ForeignControlPlane
from kapy.testing.simulation.machine_boot import ContainerBoot, MachineBoot
from kapy.testing.simulation.network import Decide, Network
from kapy.testing.simulation.outside_faults import OutsideFaults
from kapy.testing.simulation.processes import MANAGERS, Machinery, Manager, ManagerProcess
from kapy.testing.simulation.trace import Trace

RESOURCES: Final[Mapping[str, Resource]] = {
    "Secret": SECRETS,
    **{kind.name: kind.type_of().RESOURCE for kind in KINDS},
}
FIRST_REVISION: Final = 1_000_000
"""The first revision of the management cluster: it can go back more than once."""
HISTORY: float = 1 << 40
"""The limit of a server's history: it must not depend on the size of random keys."""


EXTENSION_GATES: Final = replace(EMBEDDED_GATES, runtime_sdk=True, in_place_updates=True)
"""The gates of a management cluster with an extension."""

T = TypeVar("T")


class Cloud(InMemoryClusters):
    """The in-memory infrastructure of a run, which outlives its manager. opened: functions that are
    called with each new workload cluster.
    """

    def __init__(self, clock: Clock, seed: int, network: Network) -> None:
        super().__init__(clock=clock, seed=seed)
        self._network = network
        self.opened: list[Callable[[WorkloadCluster], None]] = []

    def workloads(self) -> list[WorkloadCluster]:
        """Return all workload clusters."""
        return list(self._clusters.values())

    async def request(self, verb: str, path: str, act: Callable[[], T]) -> T:
        """Perform a request of the running process, which may be slow or fail."""

        async def carry_out() -> T:
            return act()

        process = PROCESS.get()
        assert isinstance(process, ManagerProcess)
        network = CloudNetwork(process, self._network, Unreachable, ServerError, is_far=False)
        return await network.request(verb, path, carry_out)

    def open(self, cluster: Key, uid: str, endpoint: Endpoint) -> WorkloadCluster:
        """Return the workload cluster of a Cluster; open it if there is none."""
        current = self.get(cluster)
        workload = super().open(cluster, uid, endpoint)
        if workload is not current:
            workload.server.context.rng.seed(f"{self.seed}/{cluster}")
            workload.server.store.history.limit = int(HISTORY)
            workload.etcd = DurableEtcd(uid)
            for notice in self.opened:
                notice(workload)
        return workload


class World:
    """A management cluster under simulation.

    client: an administrator's client without faults. failures: managers that failed by themselves.
    provider: the infrastructure, None for the in-memory one. control_plane: the control plane
    provider, None for kubeadm's. added: the instances of added providers in this run, by manager.
    resources: the resources by kind; a provider's kinds have the names of those whose place they
    take. extension: the extension of this run, None without one. broken_nodes: the time since when
    each Node fails, by name. progress: the progress of the user as text. texts: the texts of
    objects without names and times, by uid and resourceVersion. is_lost: whether too many rules are
    broken to go on. replicas: the number of processes of each manager. leaders: texts about
    processes that led at the same time. clock_jump: the time by which all clocks have jumped ahead.
    engine: the container engine, None if no machine is a container. reports: the errors that a
    scenario found in a move. companions: other management clusters that a scenario uses. is_broken:
    whether a rule was broken. is_visible: whether `states` covers all state that decides about the
    rest of a run. first_inventory: the inventory of the clouds before there was a Cluster.
    """

    is_broken = False
    is_lost = False
    is_visible = True
    progress = ""
    first_inventory: Sequence[str] = ()

    def __init__(
        self,
        seed: int,
        decide: Decide,
        provider: CustomProvider | None = None,
        extension: NewExtension | None = None,
        replicas: int = 1,
        control_plane: ForeignControlPlane | None = None,
        *,
        has_containers: bool = False,
    ) -> None:
        self.replicas = replicas
        self.leaders: list[str] = []
        self.reports: list[str] = []
        self.companions: list[World] = []
        self.seed = seed
        self.provider = provider
        self.control_plane = control_plane
        self.extension = None if extension is None else extension()
        self.gates = EMBEDDED_GATES if extension is None else EXTENSION_GATES
        self.resources: Mapping[str, Resource] = {
            **RESOURCES,
            **({} if provider is None else provider.resources),
            **({} if control_plane is None else control_plane.resources),
        }
        self._clock = loop_clock()
        self.clock_jump = timedelta()
        self.clock: Clock = lambda: self._clock() + self.clock_jump
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self.trace = Trace(self.now)
        self.network = Network(seed, self.trace, decide, self.clock)
        self.cloud = Cloud(self.clock, seed, self.network)
        self.added = self._new_instances()
        rules = AdmissionRules(self.gates)
        self.server = Server.open(
            None, clock=self.clock, admission=(rules,), convert=convert_documents
        )
        self.server.store.set_revision(FIRST_REVISION)
        self.server.context.rng.seed(f"{seed}/server")
        self.server.store.history.limit = int(HISTORY)
        self.client = Client(self.server.transport(ADMIN), field_manager="kubectl")
        rules.enable_reads(self.client)
        self.backups = Backups(self.server.store, self.now)
        self.failures: list[str] = []
        self.texts: dict[tuple[str, str], str] = {}
        self.broken_nodes: dict[str, float] = {}
        self.managers: dict[str, Manager] = {}
        self.reconciled: dict[str, int] = {}
        self.engine = SimulatedEngine() if has_containers else None
        self._boot_machines()
        self.outside = OutsideFaults(
            self.backups,
            self.cloud.workloads,
            self.network.workload_clock,
            self.trace,
            self.spawn,
        )
        self.outside.on_loss.append(self._end_processes)
        self.network.surroundings = self.outside
        self._group: asyncio.TaskGroup | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def _boot_machines(self) -> None:
        """Boot the machines of a custom provider, or of the container engine."""
        if self.provider is not None:
            kinds = self.provider.cluster.resource, self.provider.machine.resource
            MachineBoot(self, *kinds).follow()
        if self.engine is not None:
            boot = ContainerBoot(self, RESOURCES["DevCluster"], RESOURCES["DevMachine"])
            boot.follow_engine(self.engine)

    def _new_instances(self) -> dict[str, Instance]:
        added = {}
        if self.provider is not None:
            added[PROVIDER] = self.provider.new()
        if self.control_plane is not None:
            plane = self.control_plane.new(self.cloud)
            added[FOREIGN] = Instance(plane.add_to, plane.inventory, plane.lines)
        return added

    def now(self) -> float:
        """Return the seconds since the start of the run."""
        return self._loop.time() - self._began

    @property
    def is_disturbed(self) -> bool:
        """Return whether a fault has happened."""
        return self.network.is_disturbed

    @property
    def work(self) -> int:
        """Return the number of reconciles and requests so far."""
        return sum(self.reconciled.values()) + sum(self.network.requests.values())

    def inventory(self) -> Sequence[str] | None:
        """Return the names of the existing resources in the clouds of added providers, None if a
        provider cannot list them.
        """
        inventories = [
            instance.inventory for instance in self.added.values() if instance.inventory is not None
        ]
        if self.engine is not None:
            inventories.append(self.engine.inventory)
        if not inventories:
            return None
        return sorted(str(name) for inventory in inventories for name in inventory())

    def spawn(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run a task that ends with the world."""

        async def run() -> None:
            with suppress(Exception):
                await work()

        assert self._group is not None
        task = self._group.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def documents(self, resource: Resource) -> list[Document]:
        """Return all stored objects of a resource."""
        table = self.server.store.peek(resource.group_resource)
        return [] if table is None else list(table.scan(""))

    def _on_leaders(self, manager: str, leading: list[str]) -> None:
        text = f"{' and '.join(leading)} lead at the same time"
        if text not in self.leaders:
            self.leaders.append(text)
            self.trace.add("leaders", by=manager, text=text)

    def _fail(self, manager: str, error: BaseException) -> None:
        self.failures.append(f"the {manager} manager ended by itself: {error!r}")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the server and all managers while the context is open."""
        shared = Machinery(
            transport=lambda: self.server.transport(ADMIN),
            in_memory=self.cloud,
            clock=self.clock,
            network=self.network,
            seed=self.seed,
            spawn=self.spawn,
            failed=self._fail,
            reconciled=self.reconciled,
            added=self.added,
            extension=None if self.extension is None else self.extension.extension,
            replicas=self.replicas,
            leaders=self._on_leaders,
            gates=self.gates,
            engine=self.engine,
        )
        self.network.spawn = self.spawn
        self.network.describe_state = lambda: state_of(
            lambda kind: self.documents(self.resources[kind])
        )
        failure: Exception | None = None
        self.first_inventory = self.inventory() or ()
        async with run_services(server=self.server.run):
            await asyncio.sleep(0)
            await install_definitions(self.client)
            if self.provider is not None:
                await self.provider.install(self.client)
            if self.control_plane is not None:
                await self.control_plane.install(self.client)
            add_kube_controllers(self.server)
            self.managers = {name: Manager(name, shared) for name in (*MANAGERS, *self.added)}
            async with asyncio.TaskGroup() as group:
                self._group = group
                keepers = [group.create_task(manager.keep()) for manager in self.managers.values()]
                try:
                    await self._working()
                    yield
                except Exception as error:
                    failure = error
                finally:
                    self._end(keepers)
        if failure is not None:
            raise failure

    async def _working(self) -> None:
        """Wait until the controllers of every manager have started."""
        for manager in self.managers.values():
            await manager.started.wait()
            await manager.wait_for_work()

    def begin(self) -> None:
        """Count points, at which faults happen, from here on."""
        self.network.is_counting = True
        self.backups.begin()

    def _end_processes(self, _: Loss) -> None:
        """End the processes of all managers, since a restore has lost their Leases."""
        for manager in self.managers.values():
            for process in list(manager.processes):
                process.crash()

    def _end(self, keepers: list[asyncio.Task[None]]) -> None:
        for task in [*keepers, *self._tasks]:
            task.cancel()

    def close(self) -> None:
        """Close the API servers of the management cluster and of the workload clusters."""
        self.cloud.close()
        self.server.close()
