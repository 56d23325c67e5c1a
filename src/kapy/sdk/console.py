"""Logs of machines, and commands in them: an optional part of an infrastructure provider.

A console runs in the user's command (`kapy logs machine`, `kapy exec`, `kapy debug collect`), not
in the provider's program: the command reads the Machine and its infrastructure object from the
management cluster, and the console reaches the machine with what the user's environment has (an
address, credentials). So it works wherever the controllers run.

    class PaperConsole(MachineConsole):
        sources = {"bootstrap": "what the boot data printed"}

        def serves(self, infra: Document) -> bool:
            return infra["kind"] == "PaperMachine"

        async def logs(self, target: MachineTarget, wanted: LogRequest) -> AsyncIterator[bytes]:
            async for piece in paper.console_output(target.provider_id):
                yield piece

    PROVIDER = Provider(…, console=PaperConsole)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Self

from kapy.kube import Document, Key
from kapy.kube.errors import KapyError

__all__ = ["CommandStreams", "ConsoleUnavailable", "LogRequest", "MachineConsole", "MachineTarget"]


class ConsoleUnavailable(KapyError):
    """The logs cannot be read, or the command cannot be run; the message says why, and what to do
    instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineTarget:
    """A machine whose logs are read, or in which a command is run. machine, infra: the Machine and
    its infrastructure object, as read from the management cluster."""

    machine: Document
    infra: Document

    @property
    def name(self) -> str:
        """The Machine's name."""
        return str(self.machine["metadata"]["name"])

    @property
    def cluster(self) -> Key:
        """The key of the Cluster."""
        namespace = str(self.machine["metadata"].get("namespace", ""))
        return Key(namespace, str(_part(self.machine, "spec").get("clusterName", "")))

    @property
    def provider_id(self) -> str:
        """The provider ID, "" where the machine has none yet."""
        for document in (self.infra, self.machine):
            if result := _part(document, "spec").get("providerID"):
                return str(result)
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRequest:
    """The part of a log to read.

    source: one of the console's `sources`. follow: go on until the reader stops. tail: the number
    of lines from the end, None for all. since: leave out what is older.
    """

    source: str
    follow: bool = False
    tail: int | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandStreams:
    """The user's side of a command.

    output, errors: called with the bytes of the command's outputs. input: the input of the command,
    None for a command without input; it ends with the user's input. tty: whether the command gets a
    terminal. sizes: rows and columns of the user's terminal, at first and after each change.
    """

    output: Callable[[bytes], object]
    errors: Callable[[bytes], object]
    input: AsyncIterator[bytes] | None = None
    tty: bool = False
    sizes: AsyncIterator[tuple[int, int]] | None = None


class MachineConsole(ABC):
    """Implement this class to give users access to the provider's machines. The user's command
    constructs it without arguments; the constructor must not connect to anything.
    """

    sources: ClassVar[Mapping[str, str]] = {}
    """A one-line description of each log, by its name. The first log is the default."""

    @abstractmethod
    def serves(self, infra: Document) -> bool:
        """Return whether the infrastructure object is one of this console's machines."""

    @abstractmethod
    def logs(self, target: MachineTarget, wanted: LogRequest) -> AsyncIterator[bytes]:
        """The log in pieces. Raises ConsoleUnavailable, or another KapyError."""

    async def execute(
        self, target: MachineTarget, command: Sequence[str], streams: CommandStreams
    ) -> int:
        """Run a command to its end; return its exit code. Raises ConsoleUnavailable."""
        del command, streams
        raise ConsoleUnavailable(
            f"commands cannot be run in Machine {target.name}: the provider of "
            f"{target.infra['kind']} does not offer it"
        )

    async def server_from_here(self, target: MachineTarget, server: str) -> str:
        """Return the URL by which this computer reaches an API server, "" if the server's own URL
        works.

        target: a machine of the cluster. server: the URL in the cluster's kubeconfig. Implement it
        where machines can be in a network that the user's computer has no route to.
        """
        del target, server
        return ""

    async def versions(self) -> Mapping[str, str]:
        """Return the versions of the software that the machines run on, by name, for a bug
        report.
        """
        return {}

    async def aclose(self) -> None:
        """Close all connections that the console has opened."""
        return

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _part(document: Document, name: str) -> Mapping[str, Any]:
    result = document.get(name)
    return result if isinstance(result, dict) else {}
