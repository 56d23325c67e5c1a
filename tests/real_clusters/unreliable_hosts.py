"""Connections to real hosts that are cut at every command, by seed, and lines that are slow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Final

from kapy_hosts.remote import script
from kapy_hosts.shell import Dialer, HostFailure, Output, Shell, Target
from kapy_hosts.ssh import connections

SCRIPTS: Final = ("facts", "claim", "boot", "progress", "release")
"""The scripts that each life of a machine runs."""
_PIECE: Final = 32 << 10
_DURING: Final = 0.3
"""The latest moment of a cut after the start of a command, in seconds."""


@dataclass
class Line:
    """A line to the SSH server of a host. delay: seconds that each piece of data takes."""

    address: str
    delay: float = 0.0
    port: int = 0
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def cut(self) -> None:
        """End all connections at once, without a word."""
        for writer in list(self._writers):
            writer.transport.abort()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Listen on a port of this machine."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            self.cut()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(self.address, 22)
        ends = {writer, far_writer}
        self._writers |= ends
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._carry(reader, far_writer))
                group.create_task(self._carry(far_reader, writer))
        finally:
            self._writers -= ends
            for end in ends:
                end.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(_PIECE):
                await asyncio.sleep(self.delay)
                writer.write(data)
                await writer.drain()
            writer.write_eof()
        except (OSError, RuntimeError):  # it was cut
            writer.transport.abort()


class CutDialer:
    """Connects to hosts by SSH. Each script is cut once on each host: before its first run, while
    it runs, or before its answer comes. cuts: those that were, by host and script."""

    def __init__(self, dialer: Dialer, lines: Mapping[int, Line], random: Random) -> None:
        self._dialer = dialer
        self._lines = lines
        self._random = random
        self.cuts: dict[tuple[int, str], str] = {}

    async def connect(self, target: Target) -> Shell:
        """Connect to a host at the port of its line."""
        return _CutShell(self, await self._dialer.connect(target), target.port)

    async def close(self) -> None:
        """Close all connections."""
        await self._dialer.close()

    def how(self, port: int, text: str) -> str:
        """Return how a command is cut; "" for not at all."""
        name = next((candidate for candidate in SCRIPTS if text == script(candidate)), "")
        if not name or (port, name) in self.cuts:
            return ""
        self.cuts[port, name] = self._random.choice(["before", "during", "after"])
        return self.cuts[port, name]

    def line(self, port: int) -> Line:
        """Return the line with a port."""
        return self._lines[port]

    def moment(self) -> float:
        """Return when a command is cut that has begun."""
        return self._random.uniform(0, _DURING)


class _CutShell:
    def __init__(self, dialer: CutDialer, shell: Shell, port: int) -> None:
        self._dialer = dialer
        self._shell = shell
        self._port = port
        self.host_key = shell.host_key
        self.jump_key = shell.jump_key

    async def run(
        self, text: str, *arguments: str, stdin: bytes = b"", seconds: float = 30.0
    ) -> Output:
        how = self._dialer.how(self._port, text)
        line = self._dialer.line(self._port)
        if how == "before":
            line.cut()
        if how == "during":
            asyncio.get_running_loop().call_later(self._dialer.moment(), line.cut)
        output = await self._shell.run(text, *arguments, stdin=stdin, seconds=seconds)
        if how == "after":
            line.cut()
            raise HostFailure("NoAnswer", "the connection was lost before the answer came")
        return output


@asynccontextmanager
async def cut_dialer(
    addresses: Mapping[str, str], random: Random, delays: Mapping[str, float]
) -> AsyncIterator[tuple[CutDialer, dict[str, int]]]:
    """A dialer, and the port of each host's line. delays: of slow hosts."""
    async with AsyncExitStack() as stack:
        ports, lines = {}, {}
        for name, address in addresses.items():
            line = Line(address, delays.get(name, 0.0))
            await stack.enter_async_context(line.open())
            ports[name], lines[line.port] = line.port, line
        opened = await stack.enter_async_context(connections())
        yield CutDialer(opened, lines, random), ports
