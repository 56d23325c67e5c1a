"""The provider's access to the container engine: connects on first use, and creates containers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from kapy.containers import Container, Engine, EngineError, File, NameInUse
from kapy.kube import Document, Key
from kapy.kube.quantity import canonical
from kapy.providers.docker.containers import (
    CLUSTER_LABEL,
    NAMESPACE_LABEL,
    NETWORK,
    NETWORK_LABEL,
    ROLE_LABEL,
    Role,
    Surroundings,
    Wanted,
    check_engine,
    check_owner,
    configuration,
    ensured_network,
)
from kapy.providers.docker.published import PublishedAddresses, published_at

FOLLOW_AGAIN: Final = 5.0
RUNTIME_SETTING: Final = "KAPY_CONTAINER_RUNTIME"
_SELINUX: Final = Path("/sys/fs/selinux/enforce")


class Host:
    """The host on which the containers of clusters run. open_engine: connects to the container
    engine; raises EngineUnreachable.

    environment: the environment variables that select proxies and the OCI runtime.
    """

    def __init__(
        self,
        open_engine: Callable[[], Engine] = Engine.from_environment,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._open = open_engine
        self._environment = os.environ if environment is None else environment
        self._engine: Engine | None = None
        self._is_open = asyncio.Event()
        self.published = PublishedAddresses()

    @property
    def engine(self) -> Engine:
        """Return the container engine. Raises EngineUnreachable."""
        if self._engine is None:
            self._engine = self._open()
            self._is_open.set()
        return self._engine

    async def capacity(self, _: Document) -> Mapping[str, str]:
        """Return the resources of a machine: those of the engine's machine, as upstream reports
        them."""
        info = await self.engine.info()
        return {"cpu": canonical(info.cpus), "memory": canonical(f"{info.memory // 1024}Ki")}

    async def follow(self, value: Callable[[Container | None], None]) -> None:
        """Call `value` with each container of a cluster that starts or ends, once an engine is
        reachable.

        The call has the argument None if events may have been missed.
        """
        await self._is_open.wait()
        while True:
            with suppress(EngineError):
                await self.engine.follow(CLUSTER_LABEL, value)
            # A timer, because no event shows that an engine is available again.
            await asyncio.sleep(FOLLOW_AGAIN)
            value(None)

    async def close(self) -> None:
        """End the connections to the engine."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.close()

    async def found(self, name: str, cluster: Key) -> Container | None:
        """Return a container of a Cluster by name. Raises EngineError and BelongsToAnother."""
        container = await self.engine.container(name)
        return None if container is None else check_owner(container, cluster)

    async def of_cluster(self, cluster: Key, role: Role | None = None) -> Sequence[Container]:
        """Return all containers of a Cluster, without those of other Clusters or programs."""
        labels = {CLUSTER_LABEL: cluster.name}
        if role is not None:
            labels[ROLE_LABEL] = role
        containers = await self.engine.containers(labels)
        namespace = cluster.namespace
        return [
            container
            for container in containers
            if container.labels.get(NAMESPACE_LABEL, namespace) == namespace
        ]

    async def make(self, wanted: Wanted, files: Sequence[File] = ()) -> Container:
        """Create and start a container; the engine must have its image. Raises EngineError.

        files: written before the start. A container that cannot be started is removed.
        """
        engine = self.engine
        around = await self._surroundings()
        check_engine(wanted, around.engine)
        config = configuration(wanted, around)
        await engine.create(wanted.name, config)
        try:
            if files:
                await engine.put_files(wanted.name, files)
            await engine.start(wanted.name)
        except EngineError:
            await engine.remove(wanted.name)
            raise
        container = await engine.container(wanted.name)
        if container is None:
            raise EngineError(f"container {wanted.name} is gone right after its start")
        return container

    async def find_way(self, balancer: Container, address: str) -> bool:
        """Record the published port of a load balancer; return whether it has changed.

        address: the address of the control plane endpoint.
        """
        machine = await published_at(self.engine, address)
        return bool(machine) and self.published.learn(balancer, address, machine)

    async def tidy_network(self) -> None:
        """Remove the network of nodes if kapy created it and the engine has no cluster any more."""
        network = await self.engine.network(NETWORK)
        if network is None or NETWORK_LABEL not in network.labels:
            return
        if not await self.engine.containers({CLUSTER_LABEL: ""}):
            await self.engine.remove_network(NETWORK)

    async def _surroundings(self) -> Surroundings:
        network = await self.engine.network(NETWORK)
        if network is None:
            with suppress(NameInUse):  # another machine has just created it
                await self.engine.create_network(NETWORK, ensured_network())
            network = await self.engine.network(NETWORK)
        return Surroundings(
            engine=await self.engine.info(),
            environment=self._environment,
            subnets=() if network is None else network.subnets,
            runtime=self._environment.get(RUNTIME_SETTING, ""),
            selinux=_enforces_selinux(),
        )


def _enforces_selinux() -> bool:
    try:
        return _SELINUX.read_text().strip() == "1"
    except OSError:
        return False
