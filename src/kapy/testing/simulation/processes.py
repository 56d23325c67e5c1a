"""The managers of a simulated management cluster: processes that end and start again, and their
leader election.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Final

from kapy._aio.clock import Clock
from kapy._aio.services import Service, run_together
from kapy.api.features import FeatureGates
from kapy.apps.manager.programs import PROGRAMS, Connections
from kapy.apps.settings import EMBEDDED_GATES, ControllerConfig
from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.client.kubeconfig import Kubeconfig
from kapy.containers import Engine, EngineUnreachable
from kapy.engine.controller import Controller, Reconcile
from kapy.engine.leadership import (
    Fenced,
    LeaderElectionConfig,
    LeaderElector,
    LostLeadership,
    first_error,
)
from kapy.engine.options import ManagerOptions
from kapy.engine.private_keys import USUAL, PrivateKeyPool
from kapy.engine.result import Result
from kapy.engine.runtime import Runtime
from kapy.hooks.extension import Extension
from kapy.hooks.transport import HookTransport
from kapy.kube import Key
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.pki import Algorithm, new_key
from kapy.providers.docker import Host
from kapy.providers.inmemory import InMemoryClusters
from kapy.testing.simulation.container_engine import EngineNetwork, SimulatedEngine
from kapy.testing.simulation.custom_provider import Instance
from kapy.testing.simulation.event_loop import PROCESS
from kapy.testing.simulation.extension import HookNetwork
from kapy.testing.simulation.network import (
    LATENCY,
    ManagerNetwork,
    ManagerState,
    Network,
    Process,
    loop_time,
)
from kapy.testing.simulation.workload_network import WorkloadNetwork

MANAGERS: Final = {
    "core": "core",
    "bootstrap": "bootstrap-kubeadm",
    "control-plane": "control-plane-kubeadm",
    "infrastructure": "infrastructure-dev",
}
"""The managers by their names in points."""

RESTART_SECONDS: Final = 5.0
SECOND_SECONDS: Final = 60.0

_NAMESPACE: Final = "default"


@dataclass(frozen=True, slots=True)
class Machinery:
    """The environment that all manager processes of a run share. transport: returns a transport to
    the API server. spawn: starts a task. added: providers that are not kapy's, by manager.
    extension: the extension of the run, if any. replicas: the number of processes of each manager,
    of which one leads. leaders: called with a manager and its processes if several lead at once."""

    transport: Callable[[], Transport]
    in_memory: InMemoryClusters
    clock: Clock
    network: Network
    seed: int
    spawn: Callable[[Callable[[], Awaitable[None]]], None]
    failed: Callable[[str, BaseException], None]
    reconciled: dict[str, int] = field(default_factory=dict)
    added: Mapping[str, Instance] = field(default_factory=dict)
    extension: Extension | None = None
    replicas: int = 1
    leaders: Callable[[str, list[str]], None] = lambda _, __: None
    gates: FeatureGates = EMBEDDED_GATES
    engine: SimulatedEngine | None = None


class ManagerProcess:
    """One process of a manager. number: its number among the manager's processes."""

    def __init__(self, manager: str, number: int, shared: Machinery, state: ManagerState) -> None:
        self.manager = manager
        self.number = number
        self.state = state
        self.is_alive = True
        self.stopped_until = -1.0
        self.lease_down_until = -1.0
        self.clock_error = timedelta()
        self.written: set[str] = set()
        self.elector: LeaderElector | None = None
        self.before_request: Callable[[], None] = lambda: None
        self.runtime: Runtime | None = None
        self._shared = shared
        self._task: asyncio.Task[None] | None = None
        self.start_second: Callable[[], None] = lambda: None
        self.started: Callable[[], None] = lambda: None

    @property
    def network(self) -> Network:
        """The network of the run."""
        return self._shared.network

    async def run(self) -> None:
        """Run until `crash`; a failure of its own is reported."""
        async with asyncio.TaskGroup() as group:
            self._task = group.create_task(self._main(), name=f"{self.manager} #{self.number}")

    def crash(self) -> None:
        """End the process at once: none of its requests is sent from here on."""
        if not self.is_alive:
            return
        self.is_alive = False
        self._shared.network.trace.add("end of process", by=self.manager, number=self.number)
        if self._task is not None:
            asyncio.get_running_loop().call_soon(self._task.cancel)

    async def _main(self) -> None:
        PROCESS.set(self)
        try:
            await self._work()
        except Exception as error:
            if isinstance(error, ExceptionGroup) and isinstance(first_error(error), LostLeadership):
                self.crash()  # as a process that ends itself
            if self.is_alive:
                self.is_alive = False
                self._shared.failed(self.manager, error)

    async def _work(self) -> None:
        shared = self._shared
        options = ManagerOptions(gates=shared.gates)
        name = MANAGERS.get(self.manager)
        random = Random(f"{shared.seed}/{self.manager}/{self.number}")
        transport: Transport = ManagerNetwork(shared.transport(), self, shared.network)
        if shared.replicas > 1:
            elector = self.elector = _elector_of(
                self, self.number, shared.transport(), shared.network, self._now, random
            )
            transport = Watched(transport, elector, self.before_request)
        runtime = self.runtime = Runtime.on(
            transport,
            clock=self._now,
            field_manager=self.manager if name is None else PROGRAMS[name].name,
            random=random,
            options=options,
        )
        if self.elector is not None:
            runtime.leader_gate = self.elector.lead
        self.started()
        runtime.private_keys = SmallKeys()
        services = self._add_provider(runtime) if name is None else self._add(runtime, name)
        for controller in runtime.controllers:
            controller.wrap_reconcile(self._counting(controller))
        await run_together(controllers=runtime.run, **services)

    def _now(self) -> datetime:
        """Return the time by the clock of this process's machine."""
        return self._shared.clock() + self.state.clock_error + self.clock_error

    def _add_provider(self, runtime: Runtime) -> Mapping[str, Service]:
        return self._shared.added[self.manager].add_to(runtime) or {}

    def _add(self, runtime: Runtime, name: str) -> Mapping[str, Service]:
        """Add the controllers of a program; return its other services."""
        shared = self._shared
        connections = Connections(
            extension_transport=self._extensions,
            connect=self._connect,
            pods=lambda _: self,
            in_memory=shared.in_memory,
            containers=Host(self._open_engine, {}),
        )
        config = ControllerConfig(manager=runtime.options)
        return PROGRAMS[name].add(runtime, config, connections)

    def _open_engine(self) -> Engine:
        """Connect to the container engine. Raises EngineUnreachable."""
        if self._shared.engine is None:
            raise EngineUnreachable("this simulation has no container engine")
        return EngineNetwork(self._shared.engine, self, self._shared.network)

    def _counting(self, controller: Controller) -> Callable[[Reconcile], Reconcile]:
        counts = self._shared.reconciled

        def around(reconcile: Reconcile) -> Reconcile:
            async def counted(key: Key) -> Result:
                counts[controller.name] = counts.get(controller.name, 0) + 1
                return await reconcile(key)

            return counted

        return around

    def _connect(self, kubeconfig: Kubeconfig) -> Transport:
        there = self._shared.in_memory.dial(kubeconfig)
        return WorkloadNetwork(there, self, self._shared.network)

    def _extensions(self) -> HookTransport:
        extension = self._shared.extension
        assert extension is not None, "the RuntimeSDK gate is closed"
        return HookNetwork(extension, self, self._shared.network)

    def etcd(self, cluster: Key, access: Kubeconfig, node: str) -> Transport:
        """Connect to the etcd member on a node. Raises Unreachable."""
        there = self._shared.in_memory.etcd_dial(cluster, access, node)
        return WorkloadNetwork(there, self, self._shared.network)

    async def certificate_expiry(self, access: Kubeconfig, node: str) -> datetime:
        """Return the expiry time of the API server's certificate on a node."""
        return await self._shared.in_memory.certificate_expiry(access, node)


class Manager:
    """A manager whose process is started again whenever it ends."""

    def __init__(self, name: str, shared: Machinery) -> None:
        self.name = name
        self.state = ManagerState()
        self._shared = shared
        self._number = 0
        self.processes: list[ManagerProcess] = []
        self.started = asyncio.Event()

    async def keep(self) -> None:
        """Run processes one after the other, as many at a time as there are replicas, until
        cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._shared.replicas):
                group.create_task(self._keep_replica())

    async def _keep_replica(self) -> None:
        while True:
            await self._run_process(self.started.set)
            await asyncio.sleep(RESTART_SECONDS)

    def _check_leaders(self) -> None:
        leading = [
            f"{self.name} #{process.number}"
            for process in self.processes
            if process.is_alive and process.elector is not None and process.elector.may_write()
        ]
        if len(leading) > 1:
            self._shared.leaders(self.name, leading)

    async def wait_for_work(self) -> None:
        """Wait until the controllers of a process run."""
        runtimes = [process.runtime for process in self.processes if process.runtime is not None]
        if len(runtimes) == 1:
            await runtimes[0].working.wait()
            return
        is_working = asyncio.Event()

        async def wait(runtime: Runtime) -> None:
            await runtime.working.wait()
            is_working.set()

        async with asyncio.TaskGroup() as group:
            waiting = [group.create_task(wait(runtime)) for runtime in runtimes]
            await is_working.wait()
            for task in waiting:
                task.cancel()

    async def _run_process(self, started: Callable[[], None]) -> None:
        self._number += 1
        process = ManagerProcess(self.name, self._number, self._shared, self.state)
        process.start_second = lambda: self._shared.spawn(self._second)
        process.started = started
        process.before_request = self._check_leaders
        self.processes.append(process)
        try:
            await process.run()
        finally:
            self.processes.remove(process)

    async def _second(self) -> None:
        """Run a second process for a while, as after the loss of a lease that was not noticed."""
        self._number += 1
        process = ManagerProcess(self.name, self._number, self._shared, self.state)
        self._shared.network.trace.add("second process", by=self.name, number=process.number)
        self.processes.append(process)
        loop = asyncio.get_running_loop()
        timer = loop.call_later(SECOND_SECONDS, process.crash)
        try:
            await process.run()
        finally:
            timer.cancel()
            self.processes.remove(process)


class SmallKeys(PrivateKeyPool):
    """Keys that are fast to generate."""

    async def new(self, algorithm: Algorithm = USUAL) -> bytes:
        """Return a new key as PEM."""
        del algorithm
        return new_key("ECDSA-P256")


class LeaseNetwork(Interceptor):
    """The way of one process to its Lease, on a connection of its own. Its requests are no points:
    there is one every two seconds."""

    __slots__ = ("_process", "_shared")

    def __init__(self, transport: Transport, process: Process, shared: Network) -> None:
        super().__init__(transport)
        self._process = process
        self._shared = shared

    async def __call__(self, request: Request) -> Reply:
        process, name = self._process, f"{self._process.manager}/lease"
        await asyncio.sleep(self._shared.latency(name, LATENCY))
        await asyncio.sleep(max(0.0, process.stopped_until - loop_time()))
        if not process.is_alive or loop_time() < process.lease_down_until:
            raise Unreachable("the request was lost")
        return await self.transport(request)


class Watched(Fenced):
    """A transport that passes writes only while the process leads, and tells of each of them."""

    __slots__ = ("_before",)

    def __init__(
        self, transport: Transport, elector: LeaderElector, before: Callable[[], None]
    ) -> None:
        super().__init__(transport, elector)
        self._before = before

    async def __call__(self, request: Request) -> Reply:
        self._before()
        return await super().__call__(request)


def _elector_of(
    process: Process,
    number: int,
    transport: Transport,
    shared: Network,
    clock: Clock,
    random: Random,
) -> LeaderElector:
    """Return the leader election of a process."""
    client = Client(LeaseNetwork(transport, process, shared), field_manager=process.manager)
    lease = Key(_NAMESPACE, f"{process.manager}-leader")
    terms = LeaderElectionConfig(lease=lease, identity=f"{process.manager}-{number}")
    return LeaderElector(client, terms, clock, random)
