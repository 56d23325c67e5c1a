"""The interface between the agent and its container runtimes: local processes, or a container
engine."""

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
    """A container cannot be started; `reason` becomes the reason of its waiting state."""

    def __init__(self, message: str, reason: str = "RunContainerError") -> None:
        super().__init__(message)
        self.reason = reason


WorkloadName = Callable[[Document], str]
"""The name of the Deployment (or StatefulSet, …) that a Pod belongs to, "" for none."""
Report = Callable[[str, str], None]
"""Told why a container does not run yet: a reason, and a sentence."""


def _no_report(_: str, __: str) -> None:
    """Ignore the reason for which a container waits."""


class NotSupported(KapyError):
    """A runtime does not support the operation; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class ContainerConfig:
    """The configuration of a container to start.

    folder: the agent's folder for this container. kubeconfig: the program's access to the API
    server, None if its Pod has no token. log: the file for its output. restarts: the number of
    earlier starts. server: the API server's address, None for the default. address: the own address
    of the Pod, "" if it has none. pull_secrets: data of the image pull Secrets. tell: receives the
    reason for which the start waits.
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
    address: str = ""
    pull_secrets: Sequence[Mapping[str, bytes]] = ()
    tell: Report = _no_report

    @property
    def name(self) -> str:
        return str(self.container["name"])


class Exit(NamedTuple):
    """The end of a container. reason: the value of `terminated.reason`. message: a sentence. said:
    the last log lines of the container, "" if the log has them.
    """

    code: int
    reason: str
    at: datetime
    message: str = ""
    said: str = ""


class LogQuery(NamedTuple):
    """The requested part of a log. tail: only the last lines. follow: returns whether more may
    come, None not to wait. since: Unix time. timestamps: prefix each line."""

    tail: int | None = None
    limit: int | None = None
    follow: Callable[[], bool] | None = None
    since: float = 0.0
    timestamps: bool = False


class Running(Protocol):
    """A running container, or one that has ended.

    identity: its name for users, `process://4711`. image: the running image. address: the address
    of its ports. ports: actual ports by requested ones, if they differ.
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

    async def run_session(self, command: Sequence[str], session: Session) -> int:
        """Run a command beside it with a user's input and output; its exit code. Raises
        NotSupported, StartFailed."""
        ...

    async def attach(self, session: Session) -> None:
        """Connect a user with its own input and output until it ends. Raises NotSupported,
        StartFailed."""
        ...

    def outdated(self) -> str:
        """Return the reason to start it again (its program has changed), "" if there is none."""
        ...

    def trouble(self) -> str:
        """Return the reason for which its health is unknown, in one sentence, "" for none."""
        ...


class Runtime(Protocol):
    """A container runtime of the node agent. other_users: whether containers may run as other users
    than the agent.
    """

    @property
    def other_users(self) -> bool: ...

    async def refusal(self, pod: Document) -> str:
        """Return the reason for which this runtime refuses a Pod, in one sentence; "" if it accepts
        it.
        """
        ...

    async def server(self, pod: Document, report: Report) -> tuple[str, int] | None:
        """Host and port at which a Pod reaches the API server, None for the agent's own."""
        ...

    def address(self, pod: Document) -> str:
        """Return the address of a Pod, known after the first call of `server`; "" for that of the
        Node. Raises StartFailed, OSError."""
        ...

    async def start(self, config: ContainerConfig) -> Running:
        """Start a container. Raises StartFailed."""
        ...

    async def find(self, config: ContainerConfig) -> Running | None:
        """Return the container of an earlier start, if it still runs and matches its
        configuration.
        """
        ...

    def log(
        self, pod: Document, container: str, restarts: int, path: Path, query: LogQuery
    ) -> AsyncIterator[bytes] | None:
        """The output of a container's start with this number; None if there is none.

        path: its log file, if it logs to files of the agent. Raises NotSupported.
        """
        ...

    async def forget(self, pod: Document) -> None:
        """Remove the leftovers of a Pod's containers, which have ended."""
        ...

    async def keep(self, uids_now: Callable[[], Container[str]]) -> None:
        """Remove the leftovers of Pods with unknown UIDs, until cancelled."""
        ...

    async def close(self) -> None:
        """Close connections, after all containers have ended or are no longer waited for."""
        ...

    def tidy_soon(self) -> None:
        """Schedule a removal of leftovers of deleted Pods."""
        ...
