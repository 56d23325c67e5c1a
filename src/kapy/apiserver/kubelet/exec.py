"""The subresource `exec`: a request that becomes a SPDY connection with the command's streams.

The component that runs pods answers with `Execution`. The connection then carries the requested
streams (input, output, errors, terminal size) and one for the exit status (`v4.channel.k8s.io`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import msgspec

from kapy._aio.byte_streams import Channel
from kapy._aio.spdy_protocol import SpdyProtocol
from kapy.apiserver.request.parameters import bool_parameter
from kapy.kube.errors import BadRequest, KapyError
from kapy.kube.foreign_json import BadJson, decode_json
from kapy.kube.http import Reply, Request

PROTOCOL: Final = "v4.channel.k8s.io"
STREAMS_SECONDS: Final = 30.0
"""Seconds within which a client must open its streams."""
_LONGEST_SIZE: Final = 1024
_MOST_SIDE: Final = 10_000


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
"""Runs a command to its end and returns its exit code. Raises KapyError."""


@dataclass(slots=True)
class Execution(Reply):
    """A reply that turns the connection into streams of a command."""

    wanted: CommandRequest | None = None
    run: RunCommand | None = field(default=None)


def is_execution(request: Request) -> bool:
    """Report whether a request is for `exec` over SPDY."""
    upgrade = request.headers.get("upgrade", "").lower()
    return request.path.endswith("/exec") and upgrade == "spdy/3.1"


def parse_command(request: Request) -> CommandRequest:
    """Parse the command of a request. Raises BadRequest."""
    offered = request.headers.get("x-stream-protocol-version", "").replace(" ", "").split(",")
    if PROTOCOL not in offered:
        raise BadRequest(f"commands are run by the protocol {PROTOCOL}, which the client lacks")
    query = request.query
    uri = "" if request.arrival is None else request.arrival.uri
    words = parse_qs(urlsplit(uri).query, keep_blank_values=True).get("command")
    command = words or ([query["command"]] if "command" in query else [])
    if not command:
        raise BadRequest("you must specify at least 1 command")
    return CommandRequest(
        command,
        stdin=bool_parameter(query, "stdin"),
        stdout=bool_parameter(query, "stdout"),
        stderr=bool_parameter(query, "stderr"),
        tty=bool_parameter(query, "tty"),
    )


def response_head() -> bytes:
    """Return the head of the 101 response, after which the connection speaks SPDY."""
    return (
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
        f"X-Stream-Protocol-Version: {PROTOCOL}\r\n\r\n"
    ).encode()


class CommandConnection(SpdyProtocol):
    """The SPDY connection of one client to one command."""

    def __init__(self, wanted: CommandRequest) -> None:
        super().__init__(client=False)
        self._wanted = wanted
        self._there: dict[str, Channel] = {}
        self._complete = asyncio.Event()
        self._gone = asyncio.Event()

    def on_stream(self, headers: Mapping[str, str], channel: Channel) -> None:
        self._there.setdefault(headers.get("streamtype", ""), channel)
        if self._wanted.streams <= self._there.keys():
            self._complete.set()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._gone.set()
        self._complete.set()

    async def aclose(self) -> None:
        """Close the connection."""
        self.close()

    async def serve(self, run: RunCommand) -> None:
        """Run the command until it ends or the client disconnects."""
        try:
            async with asyncio.timeout(STREAMS_SECONDS):
                await self._complete.wait()
        except TimeoutError:
            return
        if self._gone.is_set():
            return
        async with asyncio.TaskGroup() as group:
            running = group.create_task(self._run(run))
            leaving = group.create_task(self._gone.wait())
            await asyncio.wait([running, leaving], return_when=asyncio.FIRST_COMPLETED)
            running.cancel()
            leaving.cancel()

    async def _run(self, run: RunCommand) -> None:
        try:
            outcome = _status(await run(self._wanted.command, self._streams()))
        except KapyError as error:
            outcome = _failure_status(str(error), "InternalError")
        trouble = self._there["error"]
        trouble.write(msgspec.json.encode(outcome))
        for channel in self._there.values():
            channel.close()

    def _streams(self) -> CommandStreams:
        there, tty = self._there, self._wanted.tty
        return CommandStreams(
            _writer(there.get("stdout")),
            _writer(there.get("stdout" if tty else "stderr")),
            _read_input(there["stdin"]) if "stdin" in self._wanted.streams else None,
            tty,
            _read_sizes(there["resize"]) if tty else None,
        )


def _writer(channel: Channel | None) -> Callable[[bytes], Awaitable[None]]:
    async def write(data: bytes) -> None:
        if channel is not None:
            channel.write(data)
            await channel.drain()

    return write


async def _read_input(channel: Channel) -> AsyncIterator[bytes]:
    while data := await channel.read():
        yield data


async def _read_sizes(channel: Channel) -> AsyncIterator[tuple[int, int]]:
    """Yield the terminal sizes, which arrive as JSON objects, one a line."""
    rest = b""
    async for data in _read_input(channel):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            size = _size(line)
            if size is not None:
                yield size
        if len(rest) > _LONGEST_SIZE:
            return


def _size(line: bytes) -> tuple[int, int] | None:
    try:
        found = decode_json(line)
    except BadJson:
        return None
    sides = [found.get(one) for one in ("Height", "Width")] if isinstance(found, dict) else []
    rows, columns = (sides or [None, None])[:2]
    if not isinstance(rows, int) or not isinstance(columns, int):
        return None
    return (rows, columns) if 0 < rows < _MOST_SIDE and 0 < columns < _MOST_SIDE else None


def _status(code: int) -> dict[str, Any]:
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    found = _failure_status(
        f"command terminated with non-zero exit code: {code}", "NonZeroExitCode"
    )
    return found | {"details": {"causes": [{"reason": "ExitCode", "message": str(code)}]}}


def _failure_status(message: str, reason: str) -> dict[str, Any]:
    return {"metadata": {}, "status": "Failure", "message": message, "reason": reason}
