"""Reads that are answered at once: as the usual way answers them, and only those that it could."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kapy.apiserver.audit.auditor import Auditor
from kapy.apiserver.audit.policy import EVERYTHING
from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.request.limits.max_in_flight import InFlightRequests
from kapy.apiserver.serving import Application
from kapy.apiserver.serving.listener import KEEP_ALIVE, Listener
from kapy.kube.http import User
from tests.apiserver.network_client import TOKENS
from tests.apiserver.requester import CONFIG_MAPS, GIZMOS, Asking, config_map, gizmo, running

ROOT = "authorization: Bearer root"
JSON = "accept: application/json"
PLAIN = (ROOT, "host: x", "user-agent: test")


@pytest.fixture(autouse=True)
def no_request_log(caplog: pytest.LogCaptureFixture) -> None:
    """Turn off the log of requests, which another test may have left on."""
    caplog.set_level(logging.WARNING, logger="kapy.apiserver.requests")


class Wire(asyncio.Transport):
    """The connection of a client; `written` is what it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False
        self.is_answered = asyncio.Event()

    def write(self, data: Any) -> None:
        self.written += data
        self.is_answered.set()

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        """Everything is read already."""

    def resume_reading(self) -> None:
        """Everything is read already."""


class Client:
    """A client of one connection. at_once: how many requests were answered at once."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.at_once = 0
        self._read = application.read_at_once
        application.read_at_once = self._count  # type: ignore[method-assign]
        self.wire = Wire()
        self.protocol = Listener(application).protocol()
        self.protocol.connection_made(self.wire)

    def _count(self, head: Any) -> Any:
        result = self._read(head)
        self.at_once += result is not None
        return result

    @contextmanager
    def usual(self) -> Iterator[None]:
        """Answer no request at once in this block."""
        read, self._read = self._read, _nothing
        try:
            yield
        finally:
            self._read = read

    async def get(self, path: str, *headers: str, method: str = "GET") -> bytes:
        """One request; return the response, its audit id hidden."""
        self.wire.written = b""
        self.wire.is_answered.clear()
        lines = [f"{method} {path} HTTP/1.1", *headers, "", ""]
        self.protocol.data_received("\r\n".join(lines).encode("latin-1"))
        await self.wire.is_answered.wait()
        return re.sub(rb"audit-id: [-0-9a-f]{36}", b"audit-id: *", self.wire.written)


def _nothing(head: Any) -> None:
    del head


async def filled(asking: Asking) -> Client:
    await asking.create(CONFIG_MAPS, config_map("a", labels={"x": "y"}))
    await asking.create(GIZMOS, gizmo("a", color="red"))
    return Client(Application(asking.server, Authenticator(TOKENS)))


@pytest.mark.parametrize("on_disk", [True, False])
@pytest.mark.parametrize(
    ("path", "headers", "at_once"),
    [
        (f"{CONFIG_MAPS}/a", PLAIN, True),
        (f"{CONFIG_MAPS}/a", (*PLAIN, JSON), True),
        (f"{CONFIG_MAPS}/a", (*PLAIN, "accept: */*", "Connection: keep-alive"), True),
        (f"{GIZMOS}/a", (*PLAIN, JSON, "accept-encoding: gzip"), True),
        (f"{GIZMOS}/a/", PLAIN, True),
        (f"{GIZMOS}/a/status", PLAIN, False),
        (f"{GIZMOS}/a/scale", PLAIN, False),
        (f"{GIZMOS}/lost", PLAIN, False),
        (GIZMOS, PLAIN, False),
        ("/apis/example.dev/v1/gizmos/a", PLAIN, False),
        (f"{CONFIG_MAPS}/%61", PLAIN, False),
        (f"{CONFIG_MAPS}/a?pretty=true", PLAIN, False),
        (f"{CONFIG_MAPS}/a#part", PLAIN, False),
        (f"http://x{CONFIG_MAPS}/a", PLAIN, False),
        (f"/{CONFIG_MAPS}/a", PLAIN, False),
        ("/api/v1/namespaces/default", PLAIN, True),
        ("/api/v1/namespaces/default/pods/p/log", PLAIN, False),
        ("/version", PLAIN, False),
        (f"{CONFIG_MAPS}/a", ("host: x",), False),
        (f"{CONFIG_MAPS}/a", ("host: x", "authorization: Bearer ann"), False),
        (f"{CONFIG_MAPS}/a", ("host: x", "authorization: Bearer wrong"), False),
        (f"{CONFIG_MAPS}/a", (*PLAIN, "accept: application/yaml"), False),
        (f"{CONFIG_MAPS}/a", (*PLAIN, "accept: text/plain"), False),
        (f"{CONFIG_MAPS}/a", (*PLAIN, JSON, JSON), False),
        (f"{CONFIG_MAPS}/a", (*PLAIN, "impersonate-user: ann"), False),
        (f"{CONFIG_MAPS}/a", (*PLAIN, "audit-id: mine"), False),
        (f"{CONFIG_MAPS}/a", (*PLAIN, "content-length: 0"), False),
        (f"{CONFIG_MAPS}/a", (*PLAIN, "connection: close"), False),
    ],
)
async def test_an_answer_at_once_is_the_usual_one(
    tmp_path: Any, path: str, headers: tuple[str, ...], *, at_once: bool, on_disk: bool
) -> None:
    async with running(tmp_path if on_disk else None) as asking:
        client = await filled(asking)
        first = await client.get(path, *headers)
        assert bool(client.at_once) is at_once
        other = Client(Application(asking.server, Authenticator(TOKENS)))
        with other.usual():
            assert await other.get(path, *headers) == first


async def test_other_methods_take_the_usual_way() -> None:
    async with running() as asking:
        client = await filled(asking)
        for method in ("HEAD", "DELETE"):
            await client.get(f"{CONFIG_MAPS}/a", *PLAIN, method=method)
        assert client.at_once == 0


async def test_limits_audit_and_shutdown_are_kept() -> None:
    async with running() as asking:
        client, server = await filled(asking), asking.server
        room = server.max_in_flight.reading
        full = InFlightRequests(1)
        server.max_in_flight.reading = full
        assert full.enter(User("other"))
        binding = f"{CONFIG_MAPS}/a"
        await client.get(binding, *PLAIN)
        assert client.at_once == 0
        server.max_in_flight.reading = room
        lines: list[bytes] = []

        class Log:
            def put(self, line: bytes) -> bool:
                lines.append(line)
                return True

            async def run(self) -> None:
                """Nothing waits."""

        context = server.context
        server.audit = Auditor(
            EVERYTHING, Log(), clock=context.clock, counts=context.metrics.audit, rng=context.rng
        )
        await client.get(binding, *PLAIN)
        assert (client.at_once, len(lines)) == (0, 1)
        server.audit = None
        await client.get(binding, *PLAIN)
        assert client.at_once == 1
        server.health.begin_shutdown()
        assert b"503" in await client.get(binding, *PLAIN)
        assert client.at_once == 1


async def test_answers_at_once_are_counted() -> None:
    async with running() as asking:
        client = await filled(asking)
        counters = asking.server.context.metrics.all_request_counters

        def seen() -> list[Any]:
            return [
                (label, dict(tally.codes), list(tally.sizes.counts) if tally.sizes else None)
                for label, tally in counters()
                if label.verb == "GET" and label.resource == "gizmos"
            ]

        await client.get(f"{GIZMOS}/a", *PLAIN)
        (at_once,) = seen()
        with client.usual():
            await client.get(f"{GIZMOS}/a", *PLAIN)
        (both,) = seen()
        assert client.at_once == 1
        assert both[0] == at_once[0]
        assert (at_once[1], both[1]) == ({200: 1}, {200: 2})
        assert both[2] == [2 * count for count in at_once[2]]
        assert asking.server.max_in_flight.reading.now == 0


async def test_a_new_default_of_a_definition_is_in_the_next_answer(tmp_path: Any) -> None:
    async with running(tmp_path) as asking:
        client = await filled(asking)
        assert b'"size"' not in await client.get(f"{GIZMOS}/a", *PLAIN)
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gizmos.example.dev"
        (version,) = (await asking.get(path))["spec"]["versions"]
        fields = {"color": {"type": "string"}, "size": {"type": "integer", "default": 3}}
        schema = {
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": fields}},
        }
        changed = {**version, "schema": {"openAPIV3Schema": schema}}
        await asking.merge(path, {"spec": {"versions": [changed]}})
        for _ in range(2):
            assert b'"size":3' in await client.get(f"{GIZMOS}/a", *PLAIN)


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with running() as asking:
        client = await filled(asking)
        paths = (f"{CONFIG_MAPS}/a", f"{CONFIG_MAPS}/lost", f"{GIZMOS}/a", f"{CONFIG_MAPS}/a")
        heads = "".join("\r\n".join([f"GET {path} HTTP/1.1", *PLAIN, "", ""]) for path in paths)
        client.protocol.data_received(heads.encode())
        await asyncio.sleep(1)
        statuses = re.findall(rb"HTTP/1.1 (\d+)", client.wire.written)
        kinds = re.findall(rb'"kind":"([A-Z]\w+)"', client.wire.written)
        assert statuses == [b"200", b"404", b"200", b"200"]
        assert kinds == [b"ConfigMap", b"Status", b"Gizmo", b"ConfigMap"]


async def test_a_connection_is_closed_when_no_request_has_come_for_a_while() -> None:
    async with running() as asking:
        client = await filled(asking)
        for _ in range(3):
            await client.get(f"{CONFIG_MAPS}/a", *PLAIN)
            await asyncio.sleep(KEEP_ALIVE - 1)
            assert not client.wire.closed
        with client.usual():
            await client.get(f"{CONFIG_MAPS}/a", *PLAIN)
        await asyncio.sleep(KEEP_ALIVE - 1)
        assert not client.wire.closed
        await asyncio.sleep(2)
        assert client.wire.closed
        assert client.protocol.has_received_request
