"""A container engine that answers what was recorded of a real one, on a unix socket."""

from __future__ import annotations

import asyncio
import json
import re
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from kapy.containers.sessions import WHILE_CONNECTED

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "container_engine.json").read_text()
)
"""By name: what dockerd answered to a request (method, path, status, body)."""

REASONS = {200: "OK", 201: "Created", 204: "No Content", 304: "Not Modified"}
_TAKES = re.compile(r"n=\$1")


class Asked(NamedTuple):
    """A request as the engine got it."""

    method: str
    path: str
    query: dict[str, list[str]]
    body: bytes


class Ran(NamedTuple):
    """A command that was run, and its whole input."""

    command: list[str]
    stdin: bytes
    privileged: bool
    tty: bool = False


@dataclass
class EngineServer:
    """answers: names of recorded answers by `METHOD /path path=FILE` (a regular expression; the
    last part for archives only); the first that matches answers. run: what a command does."""

    answers: list[tuple[str, str | bytes]] = field(default_factory=list)
    run: Callable[[Ran], tuple[int, bytes, bytes]] = lambda _: (0, b"", b"")
    asked: list[Asked] = field(default_factory=list)
    ran: list[Ran] = field(default_factory=list)
    execs: list[dict[str, Any]] = field(default_factory=list)
    codes: dict[int, int] = field(default_factory=dict)
    resized: asyncio.Event = field(default_factory=asyncio.Event)

    def answer(self, pattern: str, name: str | bytes) -> None:
        """Give this recorded answer (or these lines) from now on."""
        self.answers.insert(0, (pattern, name))

    @asynccontextmanager
    async def listening(self, folder: Path) -> AsyncIterator[str]:
        """The address of the engine, while the context is open."""
        path = folder / "engine.sock"
        server = await asyncio.start_unix_server(self._serve, path)
        try:
            yield f"unix://{path}"
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _request(reader)) is not None:
                self.asked.append(request)
                if re.search(r"/exec/\d+/start$", request.path):
                    await self._execute(int(request.path.split("/")[-2]), reader, writer)
                    break
                writer.write(self._reply(request))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _reply(self, request: Asked) -> bytes:
        if request.path.endswith("/exec"):
            self.execs.append(json.loads(request.body))
            return _written(201, {**RECORDED["exec"]["body"], "Id": str(len(self.execs) - 1)})
        if request.path.endswith("/resize"):
            self.resized.set()
            return _written(200, b"")
        if match := re.search(r"/exec/(\d+)/json$", request.path):
            code = self.codes.get(int(match[1]))
            process = {"tty": self.execs[int(match[1])]["Tty"]}
            inspection = {"Running": False, "ExitCode": code, "ProcessConfig": process}
            return _written(200, {**RECORDED["exec-inspect"]["body"], **inspection})
        for pattern, name in self.answers:
            if re.search(pattern, f"{request.method} {request.path}{_path_of(request)}"):
                if isinstance(name, bytes):
                    return _written(200, name)
                return _written(RECORDED[name]["status"], RECORDED[name]["body"])
        return _written(404, {"message": f"no answer was recorded for {request.path}"})

    async def _execute(
        self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        wanted = self.execs[number]
        command, stdin = wanted["Cmd"], b""
        writer.write(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
        await writer.drain()
        if wanted["AttachStdin"] and _TAKES.match(
            " ".join(command[2:])
        ):  # the wrapper that counts its input
            stdin = await reader.readexactly(int(command[4]))
            command = command[5:]
        elif tuple(command[: len(WHILE_CONNECTED)]) == WHILE_CONNECTED:
            command = command[len(WHILE_CONNECTED) :]
        elif wanted["AttachStdin"]:
            stdin = await reader.read()
        ran = Ran(command, stdin, wanted["Privileged"], wanted["Tty"])
        self.ran.append(ran)
        self.codes[number], out, err = self.run(ran)
        if ran.tty:
            writer.write(out)
        for stream, data in () if ran.tty else ((1, out), (2, err)):
            for begin in range(0, len(data), 1000):
                piece = data[begin : begin + 1000]
                writer.write(struct.pack(">BxxxL", stream, len(piece)) + piece)
        await writer.drain()


def _path_of(request: Asked) -> str:
    """The file of a container that is asked for."""
    return "".join(f" path={text}" for text in request.query.get("path", ()))


async def _request(reader: asyncio.StreamReader) -> Asked | None:
    head = await reader.readuntil(b"\r\n\r\n") if not reader.at_eof() else b""
    if not head:
        return None
    first, *lines = head.decode().strip().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    method, target, _ = first.split(" ")
    parts = urlsplit(target)
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while size := int(await reader.readline(), 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readexactly(2)
    else:
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(method, parts.path, parse_qs(parts.query), body)


def _written(status: int, body: Any) -> bytes:
    content = (
        b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    )
    form = "x-tar" if content[257:262] == b"ustar" else "json"
    reason = REASONS.get(status, "Error")
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/{form}\r\n"
    if status in (204, 304):
        return f"{head}\r\n".encode()
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content
