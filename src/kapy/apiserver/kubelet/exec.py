"""The subresources `exec` and `attach`: a request that becomes a connection with streams.

The component that runs pods answers with `Execution`. The connection then carries the requested
streams (input, output, errors, terminal size) and one for the exit status.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qs, urlsplit

from kapy.apiserver.kubelet.upgrade import Upgrade, negotiate_upgrade
from kapy.apiserver.request.parameters import bool_parameter
from kapy.kube.errors import BadRequest
from kapy.kube.http import Reply, Request

_NUMBERED: Final = "v4.channel.k8s.io"
STREAM_END: Final = "v5.channel.k8s.io"
"""The WebSocket protocol in which a client can end a stream."""


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """A command to run, and the requested streams."""

    command: Sequence[str]
    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool

    @property
    def streams(self) -> frozenset[str]:
        """Return the types of the streams that the client opens."""
        wanted = {
            "stdin": self.stdin,
            "stdout": self.stdout,
            "stderr": self.stderr and not self.tty,
            "resize": self.tty,
        }
        return frozenset(("error", *(name for name, is_wanted in wanted.items() if is_wanted)))


@dataclass(frozen=True, slots=True)
class CommandStreams:
    """The client's streams of a command.

    output, errors: send data and wait for flow control. input: None if not requested. sizes: rows
    and columns of the terminal.
    """

    output: Callable[[bytes], Awaitable[None]]
    errors: Callable[[bytes], Awaitable[None]]
    input: AsyncIterator[bytes] | None
    tty: bool
    sizes: AsyncIterator[tuple[int, int]] | None


RunCommand = Callable[[Sequence[str], CommandStreams], Awaitable[int]]
"""Runs a command to its end and returns its exit code; without words, passes on the streams of the
container's first process to its end. Raises KapyError."""


@dataclass(slots=True)
class Execution(Reply):
    """A reply that turns the connection into streams of a command."""

    wanted: CommandRequest | None = None
    run: RunCommand | None = field(default=None)
    upgrade: Upgrade | None = None


def execution(request: Request, run: RunCommand, *, attached: bool = False) -> Execution:
    """Return the reply to a request. attached: it is for the container's own streams. Raises
    BadRequest.
    """
    wanted = _parse_command(request, attached=attached)
    upgrade = negotiate_upgrade(request, spdy=(_NUMBERED,), websocket=(STREAM_END, _NUMBERED))
    return Execution(101, {}, wanted=wanted, run=run, upgrade=upgrade)


def _parse_command(request: Request, *, attached: bool) -> CommandRequest:
    query = request.query
    uri = "" if request.arrival is None else request.arrival.uri
    words = parse_qs(urlsplit(uri).query, keep_blank_values=True).get("command")
    command = words or ([query["command"]] if "command" in query else [])
    if not command and not attached:
        raise BadRequest("you must specify at least 1 command")
    return CommandRequest(
        () if attached else command,
        stdin=bool_parameter(query, "stdin"),
        stdout=bool_parameter(query, "stdout"),
        stderr=bool_parameter(query, "stderr"),
        tty=bool_parameter(query, "tty"),
    )
