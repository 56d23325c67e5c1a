"""A manager over sockets: what it waits for, what it shows to whom, and whose turn it is."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest
from aiohttp import ClientSession

from kapy._aio.clock import system_clock
from kapy._aio.services import Service, run_services
from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.server import Server, non_resource_paths
from kapy.apiserver.serving import Application, listen
from kapy.apps.definitions import install_definitions
from kapy.apps.manager.programs import PROGRAMS, Connections
from kapy.apps.manager_flags import InvalidFlag, controller_config
from kapy.apps.program.diagnostics import Diagnostics
from kapy.apps.program.endpoints import Readiness
from kapy.apps.program.options import ProgramOptions, parse_options
from kapy.apps.program.process import Process, run_process
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.kubeconfig import Kubeconfig
from kapy.client.rate_limit import RateLimited
from kapy.engine.runtime import Runtime
from kapy.hooks.https import HttpsTransport
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN, User
from kapy.kube.names import LEASES, Resource
from kapy.sdk.reviews import Reviews
from tests.real.servers import free_port
from tests.waiting import until

CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", False)
BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", False
)
USERS = {"root": ADMIN, "manager": User("manager"), "scraper": User("scraper")}
CORE = PROGRAMS["core"]


@dataclass
class Ground:
    """An API server with RBAC, and what managers at it are told."""

    server: Server
    url: str

    @property
    def client(self) -> Client:
        return Client(self.server.transport(ADMIN))

    def manager(
        self, token: str = "root", lengths: tuple[float, float, float] | None = None
    ) -> Process:
        return manager_at(self.url, token, lengths)

    async def grant(self, who: str, *rules: Document) -> None:
        role: Document = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": who}}
        await self.client.create(CLUSTER_ROLES, {**role, "kind": "ClusterRole", "rules": [*rules]})
        group = "rbac.authorization.k8s.io"
        await self.client.create(
            BINDINGS,
            {
                **role,
                "kind": "ClusterRoleBinding",
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": who},
                "subjects": [{"apiGroup": group, "kind": "User", "name": who}],
            },
        )


def manager_at(
    url: str, token: str = "root", lengths: tuple[float, float, float] | None = None
) -> Process:
    return Process(
        name="core",
        lease=CORE.lease,
        service=CORE.service,
        provider=CORE.provider,
        access=Kubeconfig(server=url, token=token, namespace="default"),
        options=ProgramOptions(health="0", diagnostics="0", lease_lengths=lengths),
    )


@asynccontextmanager
async def ground(*, definitions: bool = True, port: int = 0) -> AsyncIterator[Ground]:
    server = Server.open(None, clock=system_clock)
    async with AsyncExitStack() as stack:
        stack.callback(server.close)
        await stack.enter_async_context(run_services(server=server.run))
        await asyncio.sleep(0)
        at = await stack.enter_async_context(
            listen(Application(server, Authenticator(USERS)), port=port)
        )
        here = Ground(server, f"http://{at[0]}:{at[1]}")
        if definitions:
            await install_definitions(here.client)
        yield here


def add(runtime: Runtime) -> Mapping[str, Service]:
    return CORE.add(runtime, controller_config({}), Connections(lambda: HttpsTransport({}, None)))


async def until_ready_is(port: int, right: Callable[[str], bool]) -> None:
    """Ask a manager whether it is ready until it answers so."""
    async with ClientSession() as session:
        for _ in range(2000):
            async with session.get(f"http://127.0.0.1:{port}/readyz") as answer:
                page = await answer.text()
            if right(page):
                return
            await asyncio.sleep(0.01)
    raise AssertionError(page)


async def seen(
    diagnostics: Diagnostics,
    path: str,
    token: str = "",
    put: bytes = b"",
    body: bytearray | None = None,
) -> int:
    """The status of an answer. body: receives its content."""
    statuses: list[int] = []
    method = "PUT" if put else "GET"
    headers = [(b"authorization", f"Bearer {token}".encode())] if token else []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": put}

    async def send(event: dict[str, Any]) -> None:
        if event["type"] == "http.response.start":
            statuses.append(int(str(event["status"])))
        elif body is not None:
            body.extend(event.get("body") or b"")

    scope = {"type": "http", "method": method, "path": path, "headers": headers}
    await diagnostics(scope, receive, send)
    return statuses[0]


@pytest.mark.sockets
async def test_a_missing_kind_is_named_and_waited_for() -> None:
    async with (
        ground(definitions=False) as here,
        run_process(here.manager(), add, system_clock) as runtime,
    ):
        message = "there is no CRD machines.cluster.x-k8s.io with version v1beta2"
        await until(lambda: message in Readiness(runtime).missing)
        assert "install the provider that has it with `kapy init`" in Readiness(runtime).missing
        assert not runtime.working.is_set()
        await install_definitions(here.client)
        await until(lambda: runtime.working.is_set())
        assert Readiness(runtime).missing == ""


@pytest.mark.sockets
async def test_a_missing_right_is_named_and_waited_for() -> None:
    async with ground() as here:
        everything: Document = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
        some = {**everything, "apiGroups": ["cluster.x-k8s.io"]}
        await here.grant("manager", some)
        manager = here.manager("manager")
        async with run_process(manager, add, system_clock) as runtime:
            message = "needs get, list and watch of secrets in the API group ''"
            await until(lambda: message in Readiness(runtime).missing)
            role = {"rules": [everything]}
            await here.client.patch(CLUSTER_ROLES, Key("", "manager"), role)
            await until(lambda: runtime.working.is_set())


@pytest.mark.sockets
async def test_a_server_that_is_too_old_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(non_resource_paths, "KUBERNETES", "v1.19.16")
    async with ground() as here, run_process(here.manager(), add, system_clock) as runtime:
        message = "it is Kubernetes v1.19.16+kapy, which is too old: v1.20.0 or newer is needed"
        await until(lambda: message in Readiness(runtime).missing)
        assert runtime.cache.unsynced_resources()
        monkeypatch.setattr(non_resource_paths, "KUBERNETES", "v1.20.0")
        await until(lambda: runtime.working.is_set())
        assert Readiness(runtime).missing == ""


@pytest.mark.sockets
async def test_a_server_that_is_not_there_yet_is_waited_for() -> None:
    where = f"127.0.0.1:{free_port()}"
    async with AsyncExitStack() as stack:
        early = run_process(manager_at(f"http://{where}"), add, system_clock)
        runtime = await stack.enter_async_context(early)
        await until(lambda: where in Readiness(runtime).missing)
        await stack.enter_async_context(ground(port=int(where.rpartition(":")[2])))
        await until(lambda: runtime.working.is_set())


@pytest.mark.sockets
async def test_webhooks_wait_for_the_right_to_have_a_certificate() -> None:
    async with ground() as here:
        some: Document = {"apiGroups": ["cluster.x-k8s.io"], "resources": ["*"], "verbs": ["*"]}
        await here.grant("manager", some)
        port = free_port()
        options = ProgramOptions(
            health=f"127.0.0.1:{port}",
            diagnostics="0",
            webhook_port=free_port(),
            webhook_namespace="default",
        )
        manager = replace(here.manager("manager"), options=options, webhooks=lambda *_: Reviews({}))
        async with run_process(manager, add, system_clock) as runtime:
            needs = "needs get, list, watch, create and update of secrets in the namespace default"
            await until_ready_is(port, lambda page: needs in page)
            role = {"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}
            await here.client.patch(CLUSTER_ROLES, Key("", "manager"), role)
            await until_ready_is(port, lambda page: page == "ok")
            told_of = runtime.metrics.text().decode().splitlines()
            reads = "certwatcher_read_certificate"
            assert {f"{reads}_total 1.0", f"{reads}_errors_total 0.0"} <= {*told_of}


@pytest.mark.sockets
async def test_one_of_two_managers_leads_and_the_other_is_ready() -> None:
    async with ground() as here:
        lengths = parse_options("core", {"leader-elect": ("true",)}).lease_lengths
        manager = here.manager(lengths=lengths)
        async with AsyncExitStack() as stack:
            first = run_process(manager, add, system_clock)
            context = await stack.enter_async_context(first)
            await until(lambda: context.working.is_set())
            async with run_process(manager, add, system_clock) as two:
                await until(lambda: Readiness(two).missing == "")
                assert not two.working.is_set()
                key = Key("default", CORE.lease)
                holder = (await here.client.get(LEASES, key))["spec"]["holderIdentity"]
                await stack.aclose()
                await until(lambda: two.working.is_set())
                lease = await here.client.get(LEASES, key)
                assert lease["spec"]["holderIdentity"] not in ("", holder)


class Wire:
    """A TCP proxy that can lose its connections as a vanished host does: without a word."""

    def __init__(self, url: str) -> None:
        self._target = url.removeprefix("http://").split(":")
        self._lost: set[asyncio.StreamWriter] = set()
        self._open: set[asyncio.StreamWriter] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        listening = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        finally:
            listening.close()
            for item in self._open:
                item.close()

    def lose(self) -> int:
        """Pass nothing on from now on over the connections that are open; their number."""
        self._lost |= self._open
        return len(self._open)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        host, port = self._target
        there, back = await asyncio.open_connection(host, int(port))

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError):
                while data := await source.read(65536):
                    if writer not in self._lost:
                        sink.write(data)
            sink.close()

        await asyncio.gather(pump(reader, back), pump(there, writer))
        self._open.discard(writer)


@pytest.mark.sockets
async def test_a_vanished_host_costs_no_lease(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with ground() as here:
        wire, key = Wire(here.url), Key("default", CORE.lease)
        async with wire.open() as url:
            manager = manager_at(url, lengths=(6.0, 3.0, 0.2))
            async with run_process(manager, add, system_clock) as runtime:
                await until(lambda: runtime.working.is_set())
                wanted = [runtime.client.raw("GET", "/version") for _ in range(8)]
                await asyncio.gather(*wanted)  # leaves kept connections
                assert wire.lose() > 8
                before = await here.client.get(LEASES, key)

                async with asyncio.timeout(20):
                    while await here.client.get(LEASES, key) == before:  # noqa: ASYNC110
                        await asyncio.sleep(0.02)
        assert "lost lease" not in caplog.text


@pytest.mark.sockets
async def test_flags_set_the_client_rate_limit() -> None:
    flags = {"kube-api-qps": ("70",), "kube-api-burst": ("90",), "health-addr": ("0",)}
    options = replace(parse_options("core", flags), diagnostics="0")
    manager = replace(manager_at("http://127.0.0.1:9"), options=options)
    async with run_process(manager, add, system_clock) as runtime:
        way: Any = runtime.client.transport
        while not isinstance(way, RateLimited):
            way = way.transport
        assert (way.pace, way._burst) == (70, 90)


@pytest.mark.sockets
async def test_diagnostics_need_a_permission() -> None:
    async with ground() as here:
        may = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
        await here.grant("scraper", may)
        async with run_process(here.manager(), add, system_clock) as runtime:
            diagnostics = Diagnostics(runtime, here.client)
            assert await seen(diagnostics, "/metrics") == 401
            assert await seen(diagnostics, "/metrics", "nobody's") == 401
            assert await seen(diagnostics, "/metrics", "manager") == 403
            nobody = ApiTransport(Kubeconfig("http://127.0.0.1:9"))
            assert await seen(Diagnostics(runtime, Client(nobody)), "/metrics", "scraper") == 500
            await nobody.aclose()
            metrics = bytearray()
            assert await seen(diagnostics, "/metrics", "scraper", body=metrics) == 200
            assert b"\nprocess_cpu_seconds_total " in metrics
            assert b"\nprocess_resident_memory_bytes " in metrics
            assert await seen(diagnostics, "/debug/flags/v", "scraper", b"5") == 403
            assert await seen(diagnostics, "/debug/flags/v", "root", b"loud") == 400
            assert await seen(diagnostics, "/debug/flags/v", "root", b"2") == 200
            assert await seen(Diagnostics(runtime, None), "/metrics") == 200
            assert await seen(Diagnostics(runtime, None), "/debug/flags/v", "", b"5") == 404


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ({"leader-elect": ("perhaps",)}, "--leader-elect: 'perhaps' is not true or false"),
        ({"kube-api-qps": ("many",)}, "--kube-api-qps: 'many' is not a number"),
        ({"webhook-port": ("70000",)}, "--webhook-port: '70000' is not a port"),
        ({"tls-min-version": ("TLS9",)}, "--tls-min-version: there is no version 'TLS9'"),
    ],
)
def test_flags_that_mean_nothing_are_refused(flags: dict[str, tuple[str]], why: str) -> None:
    with pytest.raises(InvalidFlag, match=re.escape(why)):
        parse_options("core", flags)


def test_leases_are_renewed_as_upstreams() -> None:
    elected = {"leader-elect": ("true",)}
    assert parse_options("core", elected).lease_lengths == (15, 10, 2)
    assert parse_options("kubeadm-control-plane", elected).lease_lengths == (60, 40, 5)
    short = {**elected, "leader-elect-lease-duration": ("5s",)}
    with pytest.raises(InvalidFlag, match="must be longer than"):
        parse_options("core", short).leader_election(Key("default", "lease"), "me")
