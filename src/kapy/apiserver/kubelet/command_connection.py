"""Connections with the streams of a command: over SPDY, and over a WebSocket.

SPDY (`v4.channel.k8s.io`): the client opens a stream for each, named by its header. WebSocket
(`v4.channel.k8s.io`, `v5.channel.k8s.io`): the first byte of a message is the number of the stream;
in v5 a message 255 tells the end of the stream whose number follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from kapy._aio.byte_streams import Channel
from kapy._aio.spdy_protocol import SpdyProtocol
from kapy._aio.websocket_protocol import WebSocketProtocol
from kapy.apiserver.kubelet.exec import STREAM_END, CommandRequest, CommandStreams, RunCommand
from kapy.kube.errors import KapyError
from kapy.kube.foreign_json import BadJson, decode_json

STREAMS_SECONDS: Final = 30.0
"""Seconds within which a client must open its streams."""
_NUMBERS: Final = {"stdin": 0, "stdout": 1, "stderr": 2, "error": 3, "resize": 4}
_END_SIGNAL: Final = 255
_LONGEST_SIZE: Final = 1024
_MOST_SIDE: Final = 10_000


class CommandSession:
    """One command in a container, and the streams that its client has opened for it."""

    def __init__(self, wanted: CommandRequest) -> None:
        self._wanted = wanted
        self._channels: dict[str, Channel] = {}
        self._complete = asyncio.Event()
        self._gone = asyncio.Event()

    def add(self, name: str, channel: Channel) -> None:
        """Add a stream that the client has opened."""
        self._channels.setdefault(name, channel)
        if self._wanted.streams <= self._channels.keys():
            self._complete.set()

    def end(self) -> None:
        """Record that the client has disconnected."""
        self._gone.set()
        self._complete.set()

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
        self._channels["error"].write(msgspec.json.encode(outcome))
        for channel in self._channels.values():
            channel.close()

    def _streams(self) -> CommandStreams:
        channels, tty = self._channels, self._wanted.tty
        return CommandStreams(
            _writer(channels.get("stdout")),
            _writer(channels.get("stdout" if tty else "stderr")),
            _read_input(channels["stdin"]) if "stdin" in self._wanted.streams else None,
            tty,
            _read_sizes(channels["resize"]) if tty else None,
        )


class SpdyCommand(SpdyProtocol):
    """The SPDY connection of one client to one command."""

    def __init__(self, session: CommandSession) -> None:
        super().__init__(client=False)
        self._command = session

    def on_stream(self, headers: Mapping[str, str], channel: Channel) -> None:
        name = headers.get("streamtype", "")
        if name == "stdin":
            channel.hold_back(self.pause_reading, self.resume_reading)
        self._command.add(name, channel)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._command.end()

    async def aclose(self) -> None:
        """Close the SPDY connection."""
        self.close()


class WebSocketCommand(WebSocketProtocol):
    """The WebSocket of one client to one command."""

    def __init__(self, session: CommandSession, wanted: CommandRequest, protocol: str) -> None:
        super().__init__()
        self._command = session
        self._wanted = wanted
        self._ends_streams = protocol == STREAM_END
        self._incoming: dict[int, Channel] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        for name in self._wanted.streams:
            number = _NUMBERS[name]
            channel = Channel(partial(self._send, number), self._room.wait)
            if name in ("stdin", "resize"):
                channel.hold_back(self.pause_reading, self.resume_reading)
                self._incoming[number] = channel
            self._command.add(name, channel)
        # Like a kubelet: an empty message tells the client that its streams are ready.
        outputs = [name for name in ("stdout", "stderr") if name in self._wanted.streams]
        self.send(bytes([_NUMBERS[[*outputs, "error"][0]]]))

    def on_message(self, message: bytes) -> None:
        if not message:
            return
        number = message[0]
        if number == _END_SIGNAL and self._ends_streams:
            for ended in message[1:2]:
                if ended in self._incoming:
                    self._incoming[ended].feed(b"", ended=True)
        elif number in self._incoming:
            # Not every client ends a size with a line feed.
            is_size = number == _NUMBERS["resize"] and message.endswith(b"}")
            self._incoming[number].feed(message[1:] + (b"\n" if is_size else b""))

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for channel in self._incoming.values():
            channel.fail(ConnectionResetError("the connection was cut off"))
        self._command.end()

    async def aclose(self) -> None:
        """Close the WebSocket."""
        self.close()

    def _send(self, number: int, data: bytes | None) -> None:
        if data is not None:
            self.send(bytes([number]) + data)


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
        size = decode_json(line)
    except BadJson:
        return None
    sides = [size.get(side) for side in ("Height", "Width")] if isinstance(size, dict) else []
    rows, columns = (sides or [None, None])[:2]
    if not isinstance(rows, int) or not isinstance(columns, int):
        return None
    return (rows, columns) if 0 < rows < _MOST_SIDE and 0 < columns < _MOST_SIDE else None


def _status(code: int) -> dict[str, Any]:
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    result = _failure_status(
        f"command terminated with non-zero exit code: {code}", "NonZeroExitCode"
    )
    return result | {"details": {"causes": [{"reason": "ExitCode", "message": str(code)}]}}


def _failure_status(message: str, reason: str) -> dict[str, Any]:
    return {"metadata": {}, "status": "Failure", "message": message, "reason": reason}
