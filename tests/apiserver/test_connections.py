"""Connections: bounded, and a flood of idle ones keeps nobody out."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import resource
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from random import Random

import pytest

from kapy._aio.clock import system_clock
from kapy.apiserver.auth.authentication import Authenticator, authenticated_user
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, connection_limit, listen
from kapy.apiserver.serving.acceptor import PAUSE_SECONDS, Acceptor
from kapy.apiserver.serving.connection_limit import TELL_SECONDS, Connection, ConnectionLimit
from kapy.kube.http import ADMIN, ANONYMOUS, User
from tests.apiserver.hostile.wire import Talk
from tests.waiting import until

ROOT = Path(__file__).parents[2]
ALICE = authenticated_user("alice", ("readers",))
BOB = authenticated_user("bob", ("readers",))
USERS = {"admin": ADMIN, "alice": ALICE, "bob": BOB}


class Doing:
    """A protocol that does what the test says."""

    def __init__(self, *, has_received: bool, busy: bool) -> None:
        self.has_received_request, self.is_busy = has_received, busy


class Socket:
    """A transport that records whether its connection was aborted."""

    def __init__(self) -> None:
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


def entered(
    limit: ConnectionLimit, source: str, user: User | None = None, *, busy: bool = False
) -> Connection | None:
    """A connection from `source`, of a user, with a request under way or after one."""
    visit = limit.add(source)
    if visit is not None:
        visit.transport = Socket()  # type: ignore[assignment]
        if user is not None:
            visit.protocol = Doing(has_received=True, busy=busy)
            if not visit.set_user(user):
                visit.on_closed()
                return None
    return visit


def ended(visit: Connection | None) -> bool:
    assert visit is not None
    return bool(visit.transport.aborted)  # type: ignore[union-attr]


async def test_the_oldest_idle_connection_of_the_largest_source_is_closed_first() -> None:
    limit = ConnectionLimit(16)
    quiet = entered(limit, "10.0.0.1")
    flood = [entered(limit, "10.0.0.2") for _ in range(7)]
    assert limit.open == 8  # half of the room is for strangers
    new = entered(limit, "10.0.0.3")
    assert [ended(connection) for connection in flood] == [True, *[False] * 6]
    assert not ended(quiet)
    assert not ended(new)
    assert limit.open == 8


async def test_anonymous_connections_with_a_request_are_closed_last() -> None:
    limit = ConnectionLimit(8)
    busy = entered(limit, "a", ANONYMOUS, busy=True)
    idle = [entered(limit, "a", ANONYMOUS), entered(limit, "a", ANONYMOUS)]
    silent = entered(limit, "a")
    order = [silent, *idle, busy]
    for number in range(4):
        entered(limit, "a", ANONYMOUS, busy=True)
        assert [ended(connection) for connection in order] == [at <= number for at in range(4)]


async def test_users_share_the_connections_and_superusers_have_a_reserve() -> None:
    limit = ConnectionLimit(32)
    alice = [entered(limit, "a", ALICE, busy=True) for _ in range(32)]
    assert [item is not None for item in alice] == [at < 14 for at in range(32)]
    bob = [entered(limit, "a", BOB, busy=True) for _ in range(32)]
    assert sum(item is not None for item in bob) == 14
    others = [entered(limit, "a", authenticated_user(f"u{at}"), busy=True) for at in range(32)]
    assert not any(others)
    admins = [entered(limit, "a", ADMIN, busy=True) for _ in range(4)]
    assert all(admins)
    assert not any(map(ended, [*alice[:14], *bob[:14]]))
    assert limit.open == 32
    assert entered(limit, "a") is None  # all are in use
    for connection in alice[:14]:
        assert connection is not None
        connection.on_closed()
    assert entered(limit, "a", ALICE) is not None


async def test_idle_connections_of_users_make_room_before_those_of_administrators() -> None:
    limit = ConnectionLimit(8)
    admin = entered(limit, "a", ADMIN)
    alice = entered(limit, "a", ALICE)
    watches = [entered(limit, "a", ADMIN, busy=True) for _ in range(6)]
    assert all(watches)
    entered(limit, "a", ADMIN, busy=True)
    assert (ended(alice), ended(admin)) == (True, False)
    entered(limit, "a", ADMIN, busy=True)
    assert ended(admin)
    assert not any(map(ended, watches))


@pytest.mark.parametrize("seed", range(20))
async def test_connection_limits_hold_under_random_use(seed: int) -> None:
    random = Random(seed)
    limit = ConnectionLimit(random.choice((8, 16, 40)))
    there: list[Connection] = []
    users = [None, ANONYMOUS, ALICE, BOB, ADMIN]
    for _ in range(1000):
        there = [element for element in there if not ended(element)]
        if there and random.random() < 0.3:
            connection = there.pop(random.randrange(len(there)))
            for _ in range(random.choice((1, 2))):
                connection.on_closed()
        else:
            user = random.choice(users)
            visit = entered(limit, random.choice("abc"), user, busy=random.random() < 0.5)
            if visit is not None:
                there.append(visit)
        alive = [element for element in there if not ended(element)]
        assert limit.open == len(alive) <= limit.limit
        assert sum(element.user is None for element in alive) <= limit.limit // 2
    for item in there:
        item.on_closed()
    assert limit.open == 0
    assert not limit._users
    assert not limit._unknown


async def test_without_descriptors_accepting_waits_and_reports_it_once_in_a_while(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries = 0

    async def exhausted(_: socket.socket) -> None:
        nonlocal tries
        tries += 1
        raise OSError(errno.EMFILE, "Too many open files")

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "sock_accept", exhausted)
    limit = ConnectionLimit(16)
    idle = entered(limit, "a")

    async def admit(_: socket.socket, __: Connection) -> None:
        raise AssertionError

    with closing(socket.socket()) as listening, pytest.raises(TimeoutError):
        async with asyncio.timeout(2.5 * TELL_SECONDS):
            await Acceptor(limit).accept(listening, admit)
    assert ended(idle)
    assert tries <= 2.6 * TELL_SECONDS / PAUSE_SECONDS
    messages = [
        record.message for record in caplog.records if "Too many open files" in record.message
    ]
    assert len(messages) == 3
    assert "ulimit -n" in messages[0]


@asynccontextmanager
async def served(limit: ConnectionLimit) -> AsyncIterator[tuple[str, int]]:
    """An API server without TLS, for the users above; what is asked of it is allowed."""
    server = Server.open(None, clock=system_clock, authorize=lambda _: "")
    application = Application(server, Authenticator(USERS))
    try:
        async with asyncio.TaskGroup() as group, listen(application, limit=limit) as address:
            running = group.create_task(server.run())
            yield address
            running.cancel()
    finally:
        server.close()


def get(path: str, token: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()


async def talk(stack: AsyncExitStack, address: tuple[str, int]) -> Talk:
    reader, writer = await asyncio.open_connection(*address)
    stack.callback(writer.close)
    return Talk(reader, writer)


@pytest.mark.sockets
async def test_idle_connections_are_closed_for_new_ones() -> None:
    limit = ConnectionLimit(24)
    async with served(limit) as address, AsyncExitStack() as stack:
        client = await talk(stack, address)
        await client.send(get("/version", "admin"))
        assert (await client.answer()).status == 200
        idle = []
        for _ in range(100):
            idle.append(await talk(stack, address))
            await asyncio.sleep(0)
        await client.send(get("/version", "admin"))
        assert (await client.answer()).status == 200
        for token in ("admin", "alice"):
            new = await talk(stack, address)
            await new.send(get("/version", token))
            assert (await new.answer()).status == 200
        assert limit.open <= 24


@pytest.mark.sockets
async def test_a_user_with_too_many_watches_gets_an_error_and_administrators_get_in() -> None:
    limit = ConnectionLimit(24)
    watch = "/api/v1/configmaps?watch=true"
    async with served(limit) as address, AsyncExitStack() as stack:
        for _ in range(10):
            value = await talk(stack, address)
            await value.send(get(watch, "alice"))
            assert b" 200 " in await value.reader.readuntil(b"\r\n\r\n")
        refused = await talk(stack, address)
        await refused.send(get(watch, "alice"))
        answer = await refused.answer()
        assert (answer.status, answer.closed, answer.body["reason"]) == (
            429,
            True,
            "TooManyRequests",
        )
        for _ in range(30):  # each is closed by itself after that: there is room for the next one
            admin = await talk(stack, address)
            await admin.send(get("/version", "admin"))
            assert (await admin.answer()).status == 200
        assert limit.open <= 24


@pytest.mark.sockets
async def test_closed_connections_do_not_count() -> None:
    limit = ConnectionLimit(24)
    async with served(limit) as address:
        for number in range(50):
            async with AsyncExitStack() as stack:
                value = await talk(stack, address)
                if number % 2:
                    await value.send(get("/version", ("admin", "alice")[number % 4 // 2]))
                    assert (await value.answer()).status == 200
        await until(lambda: not limit.open)
    assert not limit._users


@pytest.mark.sockets
def test_a_process_with_few_descriptors_survives_many_idle_connections() -> None:
    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, 256))

    command = [sys.executable, "-m", "tests.apiserver.server_process"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, preexec_fn=few
    ) as process:
        assert process.stdout is not None
        host, _, port = process.stdout.readline().strip().removeprefix("http://").rpartition(":")
        address = (host, int(port))
        idle = [socket.create_connection(address, 10) for _ in range(400)]
        for _ in range(3):
            with socket.create_connection(address, 10) as asking:
                asking.sendall(get("/version", "admin-token"))
                head, _, body = asking.recv(65536).partition(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200")
                assert json.loads(body)["major"]
        process.terminate()
        message = process.communicate(timeout=30)[1]
        for item in idle:
            item.close()
    assert process.returncode == 0
    assert len(message.splitlines()) < 5, message


def test_the_soft_limit_of_descriptors_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (128, 512));"
        "from kapy.apiserver.serving.connection_limit import process_limit;"
        "print(process_limit().limit, *resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    output = subprocess.check_output([sys.executable, "-c", program], text=True, cwd=ROOT)
    assert output.split() == ["384", "512", "512"]


def test_memory_limits_the_connections_where_descriptors_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection_limit, "raise_descriptor_limit", lambda: 1 << 20)
    connection_limit.process_limit.cache_clear()
    assert connection_limit.process_limit().limit == connection_limit.MOST
    connection_limit.process_limit.cache_clear()


async def test_the_reasons_for_ended_connections_are_logged_at_intervals(
    caplog: pytest.LogCaptureFixture,
) -> None:
    limit = ConnectionLimit(8)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            for _ in range(100):
                entered(limit, "10.0.0.9")
            await asyncio.sleep(TELL_SECONDS)
    assert len(caplog.records) == 3
    assert "10.0.0.9" in caplog.records[0].message
