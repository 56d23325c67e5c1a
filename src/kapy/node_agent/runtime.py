"""The seam between the agent and what runs containers: local processes, or a container engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from kapy.containers import Session
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.node_agent.volumes import Mount


class StartFailed(KapyError):
    """A container cannot be started; `reason` is that of its waiting state."""

    def __init__(self, message: str, reason: str = "RunContainerError") -> None:
        super().__init__(message)
        self.reason = reason


WorkloadName = Callable[[Document], str]
"""The name of the Deployment (or StatefulSet, …) that a Pod belongs to, "" for none."""
Tell = Callable[[str, str], None]
"""Told why a container does not run yet: a reason, and a sentence."""


def _tell_nobody(_: str, __: str) -> None:
    """Nobody wants to know."""


class NotSupported(KapyError):
    """A runtime cannot do what is asked for; the message says why."""


@dataclass(frozen=True, slots=True)
class ContainerConfig:
    """One container that is to be started.

    folder: the agent's, for this container only. kubeconfig: how the program reaches the API
    server, None where its Pod wants no token. log: the file that takes its output. restarts: how
    often it was started before. server: where it reaches the API server, None for the usual place.
    pull_secrets: data of the Secrets for registries. tell: told what the start waits for.
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
    restarts: int = 0
    server: tuple[str, int] | None = None
    pull_secrets: Sequence[Mapping[str, bytes]] = ()
    tell: Tell = _tell_nobody

    @property
    def name(self) -> str:
        return str(self.container["name"])


class Exit(NamedTuple):
    """The end of a container. reason: as `terminated.reason`. message: more, in one sentence. said:
    its last words, "" where its log has them."""

    code: int
    reason: str
    at: datetime
    message: str = ""
    said: str = ""


class LogQuery(NamedTuple):
    """The part of a log that is wanted. tail: the last so many lines only. follow: says whether
    more may come, None not to wait for it. since: in Unix time. timestamps: before each line."""

    tail: int | None = None
    limit: int | None = None
    follow: Callable[[], bool] | None = None
    since: float = 0.0
    timestamps: bool = False


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

    async def attach(self, command: Sequence[str], session: Session) -> int:
        """Run a command beside it with a user's input and output; its exit code. Raises
        NotSupported, StartFailed."""
        ...

    def outdated(self) -> str:
        """The reason to start it again (its program has changed), "" if there is none."""
        ...

    def trouble(self) -> str:
        """The reason for which nobody knows whether it runs well, in one sentence, "" for none."""
        ...


class Runtime(Protocol):
    """A runtime of containers. other_users: whether they run as other users than the agent."""

    @property
    def other_users(self) -> bool: ...

    async def refusal(self, pod: Document) -> str:
        """The reason for which this runtime refuses a Pod, in one sentence; "" if it runs it."""
        ...

    async def server(self, pod: Document, tell: Tell) -> tuple[str, int] | None:
        """Host and port at which a Pod reaches the API server, None for those of the agent."""
        ...

    async def start(self, config: ContainerConfig) -> Running:
        """Start a container. Raises StartFailed."""
        ...

    async def find(self, config: ContainerConfig) -> Running | None:
        """The container that was started before, if it still runs and is as it should be."""
        ...

    def log(
        self, pod: Document, container: str, restarts: int, path: Path, query: LogQuery
    ) -> AsyncIterator[bytes] | None:
        """The output of a container since its start number so-and-so; None where there is none.

        path: the file that took it, if the agent's files do. Raises NotSupported.
        """
        ...

    async def forget(self, pod: Document) -> None:
        """Remove what is kept of the containers of a Pod, which have ended."""
        ...

    async def keep(self, known: Callable[[], Container[str]]) -> None:
        """Remove what is left of Pods that are not known by their uids any more, for ever."""
        ...

    async def close(self) -> None:
        """End connections: all containers have ended, or nobody waits for them any more."""
        ...

    def tidy_soon(self) -> None:
        """Something of Pods that are gone may be left."""
        ...
