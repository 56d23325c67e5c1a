"""Something that answers at the engine's address and is no engine: always an EngineError."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import tarfile
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Final

import pytest

from kapy.containers import Container, Engine, EngineError, EngineUnreachable, File, Session
from kapy.containers.commands import MAX_OUTPUT_BYTES
from kapy.containers.engine import LARGEST_FILE
from kapy.containers.pull_progress import MAX_LAYERS, PullProgress
from kapy.containers.records import FRAME
from kapy.containers.responses import LINES_PER_TURN, MAX_TEXT_BYTES

pytestmark = pytest.mark.sockets

JSON: Final = "application/json"


def _full(body: bytes, status: int = 200, kind: str = JSON) -> bytes:
    head = f"HTTP/1.1 {status} X\r\n" + (f"Content-Type: {kind}\r\n" if kind else "")
    return f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def _json(value: Any, status: int = 200) -> bytes:
    return _full(json.dumps(value).encode(), status)


VERSION: Final = _json({"ApiVersion": "1.41", "Version": "20.10", "Components": []})
UPGRADE: Final = b"HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
DEEP: Final = b"[" * 100_000
ODD: Final = {
    "Id": 1,
    "Name": ["x"],
    "State": {"ExitCode": "abc"},
    "Config": {"Labels": "x", "Entrypoint": 1},
    "NetworkSettings": {"Networks": [1], "Ports": {"a": [1]}},
    "Labels": [1],
    "StatusCode": "x",
    "ExitCode": [1],
    "Running": False,
    "IPAM": {"Config": [1]},
    "RepoDigests": 5,
    "SecurityOptions": 5,
    "NCPU": "many",
    "memory_stats": 5,
    "error": 5,
    "Actor": {"Attributes": [1]},
    "time": "x",
}
ANSWERS: Final[Mapping[str, bytes]] = {
    "a list": _json([1, 2]),
    "a number": _json(1),
    "null": _json(None),
    "a text": _json("x"),
    "nothing": _full(b""),
    "an empty object": _json({}),
    "lists in a list": _json([[1]]),
    "odd fields": _json(ODD),
    "odd items": _json([{"Names": 5, "Ports": [1], "Labels": [1]}]),
    "an infinite number": _full(b'{"NCPU": Infinity, "StatusCode": Infinity, "time": 1e400}'),
    "a long number": _full(b'{"NCPU": ' + b"9" * 5000 + b"}"),
    "a deep nesting": _full(DEEP),
    "a page": _full(b"<html>", kind="text/html"),
    "a line without an end": _full(b"x" * (2 << 20)),
    "no type": _full(b"xx", kind=""),
    "a bad archive": _full(b"no archive" * 100, kind="application/x-tar"),
    "other bytes": _full(b"\xff\xfe{"),
    "a refusal without a message": _json({}, 500),
    "a refusal that is a list": _json([], 500),
    "a refusal that is a number": _json(1, 404),
    "a deep refusal": _full(DEEP, 500),
    "a refusal of a proxy": _full(b"\xff<html>", 502, "text/html"),
    "half an answer": _full(b"123456789")[:-1],
    "no HTTP": b"\x00\x01 nonsense\r\n\r\n",
    "a hangup": b"",
    "an upgrade": UPGRADE + b"\x09\0\0\0\xff\xff",
}


async def _all(context: AbstractAsyncContextManager[AsyncIterator[bytes]]) -> None:
    async with context as pieces:
        async for _ in pieces:
            pass


def _ignore(_: object) -> None:
    """Take what is told."""


SESSION: Final = Session(output=_ignore, errors=_ignore)
OPERATIONS: Final[Mapping[str, Callable[[Engine], Awaitable[object]]]] = {
    "info": lambda engine: engine.info(),
    "containers": lambda engine: engine.containers({"a": "b"}),
    "container": lambda engine: engine.container("a"),
    "create": lambda engine: engine.create("a", {"Image": "i"}),
    "start": lambda engine: engine.start("a"),
    "kill": lambda engine: engine.kill("a"),
    "stop": lambda engine: engine.stop("a", 1),
    "wait": lambda engine: engine.wait("a"),
    "memory": lambda engine: engine.memory("a"),
    "remove": lambda engine: engine.remove("a"),
    "put files": lambda engine: engine.put_files("a", [File("/x", b"1")]),
    "read file": lambda engine: engine.read_file("a", "/x"),
    "logs": lambda engine: engine.logs("a"),
    "run": lambda engine: engine.run("a", ["x"]),
    "run with input": lambda engine: engine.run("a", ["x"], stdin=b"abc"),
    "session": lambda engine: engine.run_session("a", ["x"], SESSION),
    "attach": lambda engine: engine.attach("a", SESSION),
    "follow command": lambda engine: _all(engine.follow_command("a", ["x"])),
    "output": lambda engine: _all(engine.output("a")),
    "image": lambda engine: engine.image("a"),
    "pull": lambda engine: engine.pull("a"),
    "load": lambda engine: engine.load(io.BytesIO(b"x")),
    "save": lambda engine: _all(engine.save("a")),
    "follow": lambda engine: engine.follow("label", _ignore),
    "network": lambda engine: engine.network("a"),
    "create network": lambda engine: engine.create_network("a", {}),
    "remove network": lambda engine: engine.remove_network("a"),
}


class OddServer:
    """Answers every request but that for the version with the same bytes."""

    def __init__(self) -> None:
        self.answer = b""
        self.execs = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(self._reply(head.split(b"\r\n")[0]))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _reply(self, request: bytes) -> bytes:
        if b"/version" in request:
            return VERSION
        if self.execs and b"/exec HTTP" in request:
            return _json({"Id": "1"}, 201)
        if self.execs and b"/start" in request:
            return UPGRADE
        return self.answer


@pytest.fixture
async def odd(tmp_path: Path) -> AsyncIterator[tuple[OddServer, Engine]]:
    server = OddServer()
    path = tmp_path / "s"
    listening = await asyncio.start_unix_server(server.serve, path)
    async with Engine(f"unix://{path}") as engine:
        yield server, engine
    listening.close()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("execs", [False, True])
@pytest.mark.parametrize("name", list(ANSWERS))
async def test_an_invalid_response_is_an_engine_error(
    odd: tuple[OddServer, Engine], name: str, execs: bool
) -> None:
    server, engine = odd
    server.answer, server.execs = ANSWERS[name], execs
    others: dict[str, BaseException] = {}
    for operation, run in OPERATIONS.items():
        try:
            await run(engine)
        except EngineError:
            continue
        except Exception as error:
            others[operation] = error
    assert others == {}
    # The library leaves connections to the garbage collector here; the next test expects none.
    gc.collect()


def _tar_header(size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    entry = tarfile.TarInfo("x")
    entry.size, entry.type = size, kind
    return entry.tobuf(tarfile.GNU_FORMAT)


ENDLESS: Final[Mapping[str, tuple[str, bytes, int, str]]] = {
    "containers": (JSON, b"", MAX_TEXT_BYTES, "has more than 4 MiB"),
    "read file": ("application/x-tar", _tar_header(1 << 40), LARGEST_FILE, "more than 32 MiB"),
    "pull": (JSON, b'{"status": "', MAX_TEXT_BYTES, "no answer of a container engine"),
    "follow": (JSON, b'{"Actor": "', MAX_TEXT_BYTES, "no answer of a container engine"),
    "load": (JSON, b'{"stream": "', MAX_TEXT_BYTES, "no answer of a container engine"),
}
"""By operation: what an answer begins with that goes on for a TiB, and bytes after which it ends
in an error."""


@pytest.mark.parametrize("operation", ENDLESS)
async def test_an_answer_without_an_end_is_not_read_to_its_end(
    odd: tuple[OddServer, Engine], operation: str
) -> None:
    server, engine = odd
    kind, begin, most, said = ENDLESS[operation]
    head = f"HTTP/1.1 200 X\r\nContent-Type: {kind}\r\nContent-Length: {1 << 40}\r\n\r\n"
    server.answer = head.encode() + begin + b" " * (most + (1 << 20))
    with pytest.raises(EngineError, match=said):
        await OPERATIONS[operation](engine)


@pytest.mark.parametrize(
    "archive",
    [
        _tar_header(5, tarfile.DIRTYPE),
        _tar_header(1 << 20, tarfile.XHDTYPE),
        _tar_header(0, tarfile.XHDTYPE) * 100,
        _tar_header(100),
        _tar_header(-5),
        b"\0" * 1024,
    ],
)
async def test_an_archive_without_a_file_is_an_error(
    odd: tuple[OddServer, Engine], archive: bytes
) -> None:
    server, engine = odd
    server.answer = _full(archive, kind="application/x-tar")
    with pytest.raises(EngineError):
        await engine.read_file("a", "/x")


FRAMES: Final[Mapping[str, bytes]] = {
    "one of 4 GiB": FRAME.pack(1, (1 << 32) - 1) + b"x" * 1000,
    "small ones": b"".join(FRAME.pack(1 + number % 2, 1) + b"x" for number in range(2_000)),
    "empty ones": FRAME.pack(1, 0) * 2_000,
}


class FrameServer(OddServer):
    """Sends the output of a command, or of a container, for as long as somebody reads.

    sent: bytes. most: after which it hangs up.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self.piece = b""
        self.again = b"x" * (1 << 18)
        self.sent = 0
        self.most = most

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        request = head.split(b"\r\n")[0]
        try:
            is_upgrade = b"/start" in request or b"/attach" in request
            if not is_upgrade and b"/logs" not in request:
                writer.write(self._reply(request))
                return
            writer.write(UPGRADE if is_upgrade else self._endless())
            writer.write(self.piece)
            while self.sent < self.most:
                writer.write(self.again)
                await writer.drain()
                self.sent += len(self.again)
        except ConnectionError:
            pass
        finally:
            writer.close()

    def _endless(self) -> bytes:
        return b"HTTP/1.1 200 X\r\nContent-Type: application/x\r\n\r\n"

    def _reply(self, request: bytes) -> bytes:
        if b"/exec HTTP" in request:
            return _json({"Id": "1"}, 201)
        if b"/exec/" in request:
            ended = {"Running": False, "ExitCode": 0, "ProcessConfig": {"tty": False}}
            return _json(ended)
        return VERSION if b"/version" in request else _json({"Config": {"Tty": False}})


@pytest.fixture
async def framing(tmp_path: Path) -> AsyncIterator[tuple[FrameServer, Engine]]:
    server = FrameServer(32 << 20)
    listening = await asyncio.start_unix_server(server.serve, tmp_path / "s")
    async with Engine(f"unix://{tmp_path / 's'}") as engine:
        yield server, engine
    listening.close()


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize(
    "operation", ["run", "session", "attach", "follow command", "logs", "output"]
)
async def test_a_frame_of_unlimited_length_is_not_buffered(
    framing: tuple[FrameServer, Engine], name: str, operation: str
) -> None:
    server, engine = framing
    server.piece = FRAMES[name]
    if "4 GiB" not in name:
        server.again, server.most = FRAMES[name], 1 << 17
    tracemalloc.start()
    try:
        await OPERATIONS[operation](engine)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert server.sent >= server.most
    assert most < 16 << 20


async def test_a_slow_reader_holds_the_engine_back(framing: tuple[FrameServer, Engine]) -> None:
    server, engine = framing
    server.piece = FRAMES["one of 4 GiB"]
    read = 0
    async with engine.follow_command("a", ["x"]) as pieces:
        async for piece in pieces:
            read += len(piece)
            if read > MAX_OUTPUT_BYTES:
                break
        for _ in range(100):
            await asyncio.sleep(0)
    assert server.sent < server.most


@pytest.mark.parametrize("operation", ["output", "save"])
async def test_an_exception_of_an_output_reader_is_raised_unchanged(
    odd: tuple[OddServer, Engine], operation: str
) -> None:
    server, engine = odd
    server.answer = _json({"Config": {"Tty": True}})
    context = engine.save("a") if operation == "save" else engine.output("a")

    async def read() -> None:
        async with context as pieces:
            async for _ in pieces:
                raise OSError(28, "no space left on device")

    with pytest.raises(OSError, match="no space left"):
        await read()


@pytest.mark.parametrize(
    ("address", "environment", "remedy"),
    [
        ("npipe:////./pipe/docker_engine", {}, "unix:///path/to/socket"),
        ("tcp://", {}, "write it as tcp://host:port"),
        ("http://", {}, "write it as tcp://host:port"),
        ("tcp://127.0.0.1:port", {}, "a port from 1 to 65535"),
        ("tcp://127.0.0.1:99999", {}, "a port from 1 to 65535"),
        ("tcp://127.0.0.1:0", {}, "a port from 1 to 65535"),
        ("tcp://[::1:99", {}, "write it as tcp://host:port"),
        ("ssh://nobody@127.0.0.1:1", {}, "pip install asyncssh"),
        ("tcp://127.0.0.1:1", {"DOCKER_TLS_VERIFY": "1"}, r"without DOCKER_CERT_PATH: .*ca\.pem"),
    ],
)
async def test_an_unreachable_address_is_reported(
    address: str, environment: Mapping[str, str], remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    async with Engine(address) as engine:
        with pytest.raises(EngineUnreachable, match=remedy):
            await engine.info()


@pytest.mark.parametrize("operation", ["pull", "follow"])
async def test_endless_lines_do_not_block_the_event_loop(
    odd: tuple[OddServer, Engine], operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, engine = odd
    server.answer = _full(b'{"id": "1"}\n' * (20 * LINES_PER_TURN))
    turns = 0
    most = 0
    since = 0

    async def turn() -> None:
        nonlocal since, turns
        while True:
            turns, since = turns + 1, 0
            await asyncio.sleep(0)

    def take(_: PullProgress, __: Mapping[str, Any]) -> str:
        nonlocal since, most
        since += 1
        most = max(most, since)
        return ""

    def container_of(event: Mapping[str, Any]) -> Container:
        take(PullProgress(""), event)
        return Container(id="", name="", image="", state="")

    monkeypatch.setattr(PullProgress, "update", take)
    monkeypatch.setattr("kapy.containers.engine.event_container_of", container_of)
    async with asyncio.TaskGroup() as group:
        turning = group.create_task(turn())
        await OPERATIONS[operation](engine)
        turning.cancel()
    assert 0 < most <= LINES_PER_TURN


def test_the_work_for_a_message_of_a_pull_does_not_grow_with_its_layers() -> None:
    progress = PullProgress("a:1")
    for number in range(2 * MAX_LAYERS):
        progress.update({"id": f"{number}" + "x" * 10_000, "status": "Downloading"})
        progress.update({"id": "x", "status": "Downloading", "progressDetail": {"total": 10**4000}})
        progress.update({"id": f"{number}", "status": "Pulling fs layer"})
    assert progress.update({"id": "1", "status": "Pull complete"}) == (
        f"pulling image a:1: 1 of {MAX_LAYERS} layers"
    )
    detail = {"current": 2_000_000, "total": 9_000_000}
    for _ in range(2):
        line = progress.update({"id": "1", "status": "Downloading", "progressDetail": detail})
        assert line in ("", f"pulling image a:1: 1 of {MAX_LAYERS} layers, 2 of 9 MB")
    assert progress._sizes == [2_000_000, 9_000_000]
