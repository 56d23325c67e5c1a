"""The runtime of containers of an engine: creates, starts, adopts and removes containers."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Sequence
from pathlib import Path
from typing import Final, TypeVar

from kapy._aio.clock import Clock
from kapy.containers import (
    Container as EngineContainer,
)
from kapy.containers import (
    DiskFull,
    Engine,
    EngineError,
    EngineInfo,
    EngineUnreachable,
    NameInUse,
    PortInUse,
)
from kapy.kube import Document
from kapy.kube.digits import parse_digits
from kapy.node_agent import host_access
from kapy.node_agent.containers import leftovers
from kapy.node_agent.containers.addresses import Addresses, NoAddress
from kapy.node_agent.containers.configuration import (
    Surroundings,
    configuration,
    unsupported_security,
)
from kapy.node_agent.containers.images import obtain_image
from kapy.node_agent.containers.names import (
    CONTAINER,
    JOINED,
    PLANE,
    POD_UID,
    RESTARTS,
    SPEC,
    container_name,
    spec_digest,
)
from kapy.node_agent.containers.network import Listen, PlaneNetwork, Used, read_used, write_used
from kapy.node_agent.containers.running import AGAIN, RunningContainer, is_alive, lines_of
from kapy.node_agent.containers.sandboxes import Sandboxes
from kapy.node_agent.runtime import (
    ContainerConfig,
    LogQuery,
    Report,
    Running,
    StartFailed,
    WorkloadName,
)

_log = logging.getLogger(__name__)
T = TypeVar("T")

UNREACHABLE: Final = "EngineUnreachable"
LATER: Final = 5.0
"""Seconds until a full disk is tried again, which writes to it, or a removal that was refused."""
NO_ADDRESS: Final = "NoAddress"
ADDRESS_TRIES: Final = 5
RELEASE_AFTER: Final = 2
"""The number of failed starts after which ended containers give up the Pod's address."""
CREATED: Final = "created"
_TAKEN: Final = re.compile(r"already allocated|requested ip address \S+ is not available", re.I)
"""Podman's words, with netavark and with CNI."""
_SELINUX: Final = Path("/sys/fs/selinux/enforce")


class Containers:
    """A `Runtime` of the containers of an engine.

    plane, agent: their folders. open_engine: finds the engine; raises EngineUnreachable. listen:
    makes the API server listen for containers. host_address: the Node's. workload: returns the name
    of a Pod's workload, for host access. enabled: whether it runs Pods; otherwise it only removes
    containers of an earlier run.
    """

    def __init__(
        self,
        plane: Path,
        agent: Path,
        *,
        open_engine: Callable[[], Engine],
        listen: Listen,
        clock: Clock,
        host_address: str,
        workload: WorkloadName,
        enabled: bool = True,
    ) -> None:
        self._workload = workload
        self._enabled = enabled
        self._plane = plane
        self._agent = agent
        self._open = open_engine
        self._network = PlaneNetwork(plane, agent, listen)
        self._clock = clock
        self._host_address = host_address
        self._engine: Engine | None = None
        self._sandboxes = Sandboxes()
        self._addresses = Addresses(agent)
        self._known: set[str] = set()
        self._used = False
        self._untidy = asyncio.Event()
        if read_used(agent) is not None:
            self._untidy.set()

    @property
    def engine(self) -> Engine:
        """Return the container engine. Raises EngineUnreachable."""
        if self._engine is None:
            self._engine = self._open()
        return self._engine

    async def close(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.close()

    @property
    def other_users(self) -> bool:
        return True

    async def refusal(self, pod: Document) -> str:
        if not self._enabled:
            return "containers are turned off (`kapy up --run-pods containers` turns them on)"
        wrong = unsupported_security(pod)
        if wrong:
            return f"containers here do not support {', '.join(wrong)}"
        reason = host_access.refusal(self._plane, pod, self._workload(pod))
        if reason:
            return reason
        try:
            info = await self.engine.info()
        except EngineError as error:
            return str(error)
        return _unfit(self.engine, info)

    async def server(self, pod: Document, report: Report) -> tuple[str, int] | None:
        if pod["spec"].get("hostNetwork"):
            if read_used(self._agent) is None:
                write_used(self._agent, Used(self.engine.address, 0))
            return None
        result = await _patiently(lambda: self._network.server(self.engine), report)
        if not self._used:  # a deleted plane used this folder before
            self._used = True
            self._untidy.set()
        return result

    def address(self, pod: Document) -> str:
        if pod["spec"].get("hostNetwork"):
            return self._host_address
        subnet, gateway = self._network.subnet, self._network.gateway
        if subnet is None:
            raise StartFailed(f"the network {self._network.name} has no IPv4 subnet")
        try:
            return self._addresses.allot(pod["metadata"]["uid"], subnet, gateway)
        except NoAddress as error:
            raise StartFailed(str(error), NO_ADDRESS) from None

    async def find(self, config: ContainerConfig) -> Running | None:
        return await _patiently(lambda: self._adopt(config), config.tell)

    async def start(self, config: ContainerConfig) -> Running:
        return await _patiently(lambda: self._start(config), config.tell)

    def log(
        self, pod: Document, container: str, restarts: int, _: Path, query: LogQuery
    ) -> AsyncIterator[bytes] | None:
        name = container_name(self._plane, pod, container, restarts)
        return lines_of(self.engine, name, query) if name in self._known else None

    async def forget(self, pod: Document) -> None:
        self._sandboxes.forget(pod)
        try:
            for item in await self._of(pod):
                await self._remove(item)
            self._addresses.free({pod["metadata"]["uid"]})
        except (EngineError, OSError) as error:
            _log.warning("containers of pod %s: %s", pod["metadata"]["name"], error)
            self._untidy.set()

    async def keep(self, uids_now: Callable[[], Container[str]]) -> None:
        while True:
            await self._untidy.wait()
            self._untidy.clear()
            try:
                await _patiently(lambda: self._tidy(uids_now()), _say)
            except StartFailed as error:
                _say(error.reason, str(error))
                self._untidy.set()
                # A timer: no event shows when an engine will accept the removal.
                await asyncio.sleep(LATER)

    def tidy_soon(self) -> None:
        """Schedule the removal of containers whose Pods are gone."""
        if read_used(self._agent) is not None:
            self._untidy.set()

    async def _tidy(self, uids: Container[str]) -> None:
        uids_there = uids if self._enabled else ()
        before = self._addresses.pods
        await leftovers.remove(self.engine, self._plane, uids_there)
        self._addresses.free_others(before, uids_there)

    async def _of(self, pod: Document, container: str = "") -> Sequence[EngineContainer]:
        """Return the containers of a Pod, the oldest first."""
        labels = {PLANE: str(self._plane), POD_UID: pod["metadata"]["uid"]}
        if container:
            labels[CONTAINER] = container
        result = await self.engine.containers(labels)
        return sorted(result, key=_restarts)

    async def _remove(self, container: EngineContainer) -> None:
        """Remove a container. Podman refuses this while other containers share its network, even
        ended ones. Those must be restarted anyway, so they are removed first."""
        if (await self.engine.info()).is_podman:
            dependents = {PLANE: str(self._plane), JOINED: container.id}
            for item in await self.engine.containers(dependents):
                await self.engine.remove(item.id)
                self._known.discard(item.name)
        await self.engine.remove(container.id)
        self._known.discard(container.name)

    async def _adopt(self, config: ContainerConfig) -> Running | None:
        """Return the running container of this start if its specification is unchanged. Other
        running containers of this name are stopped; the last of them is kept for its log."""
        there = await self._of(config.pod, config.name)
        self._known |= {item.name for item in there}
        alive = [item for item in there if is_alive(item)]
        fit = await self._fitting(config, alive)
        for item in alive:
            if fit is None or item.id != fit.id:
                await self.engine.stop(item.id, _grace(config.pod))
        if fit is None:
            return None
        image = await self.engine.image(fit.image_id)
        return await self._running(config, fit, image.digests[0] if image and image.digests else "")

    async def _fitting(
        self, config: ContainerConfig, alive: Sequence[EngineContainer]
    ) -> EngineContainer | None:
        digest = spec_digest(config.pod, config.container, config.server, config.address)
        for item in alive:
            if item.labels.get(SPEC) != digest or _restarts(item) != config.restarts:
                continue
            if JOINED in item.labels:
                network = await self._sandboxes.network_of(config)
                if network.container != item.labels[JOINED]:
                    continue
            return await self.engine.container(item.id)
        return None

    async def _start(self, config: ContainerConfig) -> Running:
        engine = self.engine
        image = await obtain_image(engine, config)
        network = await self._sandboxes.network_of(config)
        around = Surroundings(
            await engine.info(),
            self._plane,
            self._network.name,
            joined=network.container,
            labels_files=_enforces_selinux(),
        )
        spec = spec_digest(config.pod, config.container, config.server, config.address)
        wanted = configuration(config, spec, image, around)
        await self._make_room(config)
        name = container_name(self._plane, config.pod, config.name, config.restarts)
        identity = await engine.create(name, wanted)
        self._known.add(name)
        try:
            await self._begin(config, name)
        except EngineUnreachable:
            raise
        except (EngineError, StartFailed) as error:
            await engine.remove(identity)
            if isinstance(error, (DiskFull, StartFailed)):
                raise
            raise StartFailed(str(error)) from None
        result = await engine.container(identity)
        if result is None:
            raise StartFailed(f"container {name} is gone right after its start")
        digest = next(iter(image.digests), image.id)
        return await self._running(config, result, digest)

    async def _begin(self, config: ContainerConfig, name: str) -> None:
        """Start a container; wait a little for its address, which the one before may still have.
        Raises EngineError."""
        for attempt in range(ADDRESS_TRIES):
            if attempt == RELEASE_AFTER:
                await self._release_address(config)
            try:
                return await self.engine.start(name)
            except EngineError as error:
                if not _is_taken(error):
                    raise
            # A timer: an engine sends no event when an address becomes free.
            await asyncio.sleep(AGAIN)
        raise StartFailed(
            f"the address {config.address} of the Pod is used by a container that is not this "
            f"plane's; remove that from the network {self._network.name} (`docker network inspect "
            f"{self._network.name}` shows it)",
            NO_ADDRESS,
        )

    async def _release_address(self, config: ContainerConfig) -> None:
        """Remove the ended containers of the Pod that have its address. An engine that could not
        clean up after one (it was killed) reserves its address until it is removed, and its log
        goes with it."""
        for item in await self._of(config.pod):
            is_new = item.state == CREATED
            if not (is_alive(item) or is_new or JOINED in item.labels):
                await self._remove(item)

    async def _make_room(self, config: ContainerConfig) -> None:
        """Remove the containers of earlier starts, except for the last one, whose log can be
        requested."""
        there = await self._of(config.pod, config.name)
        for item in there:
            if _restarts(item) != config.restarts - 1 or is_alive(item):
                await self._remove(item)

    async def _running(
        self, config: ContainerConfig, container: EngineContainer, image: str
    ) -> RunningContainer:
        info = await self.engine.info()
        address = container.address(self._network.name)[0]
        if config.pod["spec"].get("hostNetwork"):
            address = self._host_address
        outdated = self._sandboxes.joined(config, container, address)
        ended = self._sandboxes.leaves(config)
        return RunningContainer(
            self.engine,
            container,
            kind="podman" if info.is_podman else "docker",
            image=image or container.image_id,
            address=self._sandboxes.address_of(config) or address,
            clock=self._clock,
            outdated=outdated,
            on_gone=ended,
        )


async def _patiently(work: Callable[[], Awaitable[T]], report: Report) -> T:
    """Send a request to an engine; retry while the engine is unavailable. Raises StartFailed."""
    while True:
        try:
            return await work()
        except EngineUnreachable as error:
            report(UNREACHABLE, str(error))
        except NameInUse as error:  # an earlier request, whose response was lost, has created it
            report("ContainerCreating", str(error))
        except DiskFull as error:
            report("DiskFull", str(error))
            await asyncio.sleep(LATER)
        except EngineError as error:
            raise StartFailed(str(error), "CreateContainerError") from None
        # A timer: no event shows that an engine is available or a disk has space again.
        await asyncio.sleep(AGAIN)


def _is_taken(error: EngineError) -> bool:
    """Return whether an engine reports that an address is in use. No port of a Pod is published, so
    Docker's message about something in use is about the address.
    """
    return isinstance(error, PortInUse) or _TAKEN.search(str(error)) is not None


def _say(_: str, message: str) -> None:
    _log.info("containers of Pods that are gone: %s", message)


def _restarts(container: EngineContainer) -> int:
    number = parse_digits(container.labels.get(RESTARTS, ""))
    return -1 if number is None else number


def _grace(pod: Document) -> float:
    return float(pod["spec"].get("terminationGracePeriodSeconds") or 30)


def _unfit(engine: Engine, info: EngineInfo) -> str:
    """Return the reason for which the containers of an engine cannot reach a plane on this
    machine.
    """
    remedy = (
        "use a rootful engine of this machine (DOCKER_HOST), or a program in place of the image"
    )
    if not engine.address.startswith("unix://"):
        return f"the container engine at {engine.address} is that of another machine; {remedy}"
    if info.is_rootless or "Desktop" in info.system or sys.platform != "linux":
        kind = "rootless" if info.is_rootless else f"{info.system}, in a virtual machine"
        return (
            f"the container engine at {engine.address} ({kind}) has no network that this machine "
            f"shares with its containers; {remedy}"
        )
    return ""


def _enforces_selinux() -> bool:
    try:
        return _SELINUX.read_text().strip() == "1"
    except OSError:
        return False
