"""A container engine in memory: the base of the simulated engines for Pods and for machines.

It implements the operations of `kapy.containers.Engine`, so that a subclass overrides only the
operations that differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Generic, Protocol, TypeVar

from kapy.containers import (
    CommandResult,
    Container,
    Engine,
    EngineUnreachable,
    Network,
    NoSuchObject,
)
from kapy.containers.engine import Progress
from kapy.containers.errors import pull_failed


class MemoryContainer(Protocol):
    """One container of an engine in memory."""

    record: Container


C = TypeVar("C", bound=MemoryContainer)


class MemoryEngine(Engine, Generic[C]):
    """A container engine that keeps its containers in memory. made: the containers by name or ID.
    down: whether the engine is unreachable. diary: the operations that were performed, as texts."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.networks: dict[str, Network] = {}
        self.made: dict[str, C] = {}
        self.down = False
        self.diary: list[str] = []
        self._count = 1

    def is_in_registry(self, image: str) -> bool:
        """Return whether the registry has an image, so that it can be pulled."""
        raise NotImplementedError

    async def take_in(self, image: str, login: Mapping[str, str] | None) -> None:
        """Pull an image that is in the registry, or begin to pull another one."""

    async def carry_out(
        self, name: str, command: Sequence[str], content: bytes, *, privileged: bool
    ) -> CommandResult:
        """Run a command in a container. content: the whole input of the command."""
        raise NotImplementedError

    async def containers(
        self, labels: Mapping[str, str] | None = None, *, name: str = ""
    ) -> Sequence[Container]:
        del name
        self.check_answers()
        return [
            container.record
            for container in self.made.values()
            if _has_labels(container.record, labels or {})
        ]

    async def container(self, name: str) -> Container | None:
        self.check_answers()
        container = self.made.get(name)
        return None if container is None else container.record

    def new_record(
        self, name: str, config: Mapping[str, Any], *, image: str = "", image_id: str = ""
    ) -> Container:
        """Return the record of a container that was created now."""
        self._count += 1
        return Container(
            id=f"id-{self._count}", name=name, state="created", labels=config["Labels"],
            image=image, image_id=image_id,
        )  # fmt: skip

    async def run(
        self,
        name: str,
        command: Sequence[str],
        *,
        stdin: bytes | BinaryIO = b"",
        environment: Mapping[str, str] | None = None,
        privileged: bool = True,
    ) -> CommandResult:
        del environment
        self.check_answers()
        content = stdin if isinstance(stdin, bytes) else stdin.read()
        return await self.carry_out(name, command, content, privileged=privileged)

    async def pull(
        self,
        image: str,
        progress: Progress | None = None,
        *,
        login: Mapping[str, str] | None = None,
    ) -> None:
        self.check_answers()
        if progress is not None:
            progress(f"pulling image {image}: 1 of 2 layers")
        await self.take_in(image, login)
        if not self.is_in_registry(image):
            raise pull_failed(image, "manifest unknown")

    async def network(self, name: str) -> Network | None:
        self.check_answers()
        return self.networks.get(name)

    async def remove_network(self, name: str) -> bool:
        self.check_answers()
        return self.networks.pop(name, None) is not None

    def check_answers(self) -> None:
        """Raise EngineUnreachable while the engine is down."""
        if self.down:
            raise EngineUnreachable(f"no container engine answers at {self.address}: start it")

    def find(self, name: str) -> C:
        """Return a container by its name or ID. Raises EngineUnreachable, NoSuchObject."""
        self.check_answers()
        for key, container in self.made.items():
            if name in (key, container.record.name):
                return container
        raise NoSuchObject(f"No such container: {name}")


def _has_labels(container: Container, wanted: Mapping[str, str]) -> bool:
    """Return whether a container has the labels; "" stands for any value."""
    return all(
        key in container.labels and value in ("", container.labels[key])
        for key, value in wanted.items()
    )
