"""The seam between the agent and what runs containers: local processes, or a container engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.node_agent.volumes import Mount


class StartFailed(KapyError):
    """A container cannot be started; `reason` is that of its waiting state."""

    def __init__(self, message: str, reason: str = "RunContainerError") -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ContainerConfig:
    """One container that is to be started.

    folder: the agent's, for this container only. kubeconfig: how the program reaches the API
    server, None where its Pod wants no token. log: the file that takes its output.
    """

    pod: Document
    container: Document
    command: Sequence[str]
    args: Sequence[str]
    environment: Mapping[str, str]
    mounts: Sequence[Mount]
    folder: Path
    kubeconfig: Path | None
    log: Path

    @property
    def name(self) -> str:
        return str(self.container["name"])


class Exit(NamedTuple):
    """The end of a container. reason: as `terminated.reason`. message: more, in one sentence."""

    code: int
    reason: str
    at: datetime
    message: str = ""


class Running(Protocol):
    """A container that runs, or has ended meanwhile.

    identity: names it for people, `process://4711`. image: what runs. address: where its ports are.
    ports: the real port of each that the program was told to listen on, where it is another one.
    """

    @property
    def identity(self) -> str: ...
    @property
    def image(self) -> str: ...
    @property
    def started(self) -> datetime: ...
    @property
    def address(self) -> str: ...
    @property
    def ports(self) -> Mapping[int, int]: ...

    async def ended(self) -> Exit:
        """Wait for its end."""
        ...

    async def stop(self, seconds: float) -> None:
        """Ask it to end, and end it after so many seconds."""
        ...

    async def execute(self, command: Sequence[str], seconds: float) -> int:
        """Run a command beside it; its exit code. Raises TimeoutError, StartFailed."""
        ...

    def outdated(self) -> str:
        """The reason to start it again (its program has changed), "" if there is none."""
        ...


class Runtime(Protocol):
    """A runtime of containers."""

    def refusal(self, pod: Document) -> str:
        """The reason for which this runtime refuses a Pod, in one sentence; "" if it runs it."""
        ...

    async def start(self, config: ContainerConfig) -> Running:
        """Start a container. Raises StartFailed."""
        ...

    async def find(self, config: ContainerConfig) -> Running | None:
        """The container that was started before, if it still runs and is as it should be."""
        ...
