"""A manager over sockets: what it waits for, what it shows to whom, and whose turn it is."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import pytest

from kapy._aio.clock import system_clock
from kapy._aio.services import Service, running
from kapy.apiserver.authentication import Authentication
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, listen
from kapy.apps.definitions import install_definitions
from kapy.apps.manager.programs import PROGRAMS, Outside
from kapy.apps.manager_flags import BadFlag, controlling
from kapy.apps.program.diagnostics import Diagnostics
from kapy.apps.program.options import ProgramOptions, program_options
from kapy.apps.program.running import Process, missing, started
from kapy.client.client import Client
from kapy.client.kubeconfig import Kubeconfig
from kapy.engine.runtime import Runtime
from kapy.hooks.https import HttpsPost
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN, User
from kapy.kube.names import LEASES, Resource
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
        told = ProgramOptions(health="0", diagnostics="0", lengths=lengths)
        access = Kubeconfig(server=self.url, token=token, namespace="default")
        return Process(
            name="core",
            lease=CORE.lease,
            service=CORE.service,
            provider=CORE.provider,
            access=access,
            told=told,
        )

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


@asynccontextmanager
async def ground(*, definitions: bool = True) -> AsyncIterator[Ground]:
    server = Server.open(None, clock=system_clock)
    async with AsyncExitStack() as stack:
        stack.callback(server.close)
        await stack.enter_async_context(running(server=server.run))
        await asyncio.sleep(0)
        at = await stack.enter_async_context(listen(Application(server, Authentication(USERS))))
        here = Ground(server, f"http://{at[0]}:{at[1]}")
        if definitions:
            await install_definitions(here.client)
        yield here


def add(runtime: Runtime) -> Mapping[str, Service]:
    return CORE.add(runtime, controlling({}), Outside(lambda: HttpsPost({}, None)))


async def seen(diagnostics: Diagnostics, path: str, token: str = "", put: bytes = b"") -> int:
    """The status of an answer."""
    statuses: list[int] = []
    method = "PUT" if put else "GET"
    headers = [(b"authorization", f"Bearer {token}".encode())] if token else []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": put}

    async def send(event: dict[str, object]) -> None:
        if event["type"] == "http.response.start":
            statuses.append(int(str(event["status"])))

    scope = {"type": "http", "method": method, "path": path, "headers": headers}
    await diagnostics(scope, receive, send)
    return statuses[0]


@pytest.mark.sockets
async def test_a_missing_kind_is_named_and_waited_for() -> None:
    async with (
        ground(definitions=False) as here,
        started(here.manager(), add, system_clock) as runtime,
    ):
        await until(lambda: "kapy init" in missing(runtime))
        told = "there is no CRD machines.cluster.x-k8s.io with version v1beta2"
        assert told in missing(runtime)
        assert not runtime.working.is_set()
        await install_definitions(here.client)
        await until(lambda: runtime.working.is_set())
        assert missing(runtime) == ""


@pytest.mark.sockets
async def test_a_missing_right_is_named_and_waited_for() -> None:
    async with ground() as here:
        everything: Document = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
        some = {**everything, "apiGroups": ["cluster.x-k8s.io"]}
        await here.grant("manager", some)
        manager = here.manager("manager")
        async with started(manager, add, system_clock) as runtime:
            told = "needs get, list and watch of secrets in the API group ''"
            await until(lambda: told in missing(runtime))
            role = {"rules": [everything]}
            await here.client.patch(CLUSTER_ROLES, Key("", "manager"), role)
            await until(lambda: runtime.working.is_set())


@pytest.mark.sockets
async def test_of_two_managers_one_works_and_the_other_is_ready_to() -> None:
    async with ground() as here:
        lengths = program_options("core", {"leader-elect": ("true",)}).lengths
        manager = here.manager(lengths=lengths)
        async with AsyncExitStack() as stack:
            first = started(manager, add, system_clock)
            one = await stack.enter_async_context(first)
            await until(lambda: one.working.is_set())
            async with started(manager, add, system_clock) as two:
                await until(lambda: missing(two) == "")
                assert not two.working.is_set()
                key = Key("default", CORE.lease)
                holder = (await here.client.get(LEASES, key))["spec"]["holderIdentity"]
                await stack.aclose()
                await until(lambda: two.working.is_set())
                lease = await here.client.get(LEASES, key)
                assert lease["spec"]["holderIdentity"] not in ("", holder)


@pytest.mark.sockets
async def test_diagnostics_are_for_those_who_may_see_them() -> None:
    async with ground() as here:
        may = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
        await here.grant("scraper", may)
        async with started(here.manager(), add, system_clock) as runtime:
            diagnostics = Diagnostics(runtime, here.client)
            assert await seen(diagnostics, "/metrics") == 401
            assert await seen(diagnostics, "/metrics", "nobody's") == 401
            assert await seen(diagnostics, "/metrics", "manager") == 403
            assert await seen(diagnostics, "/metrics", "scraper") == 200
            assert await seen(diagnostics, "/debug/flags/v", "scraper", b"5") == 403
            assert await seen(diagnostics, "/debug/flags/v", "root", b"loud") == 400
            assert await seen(diagnostics, "/debug/flags/v", "root", b"2") == 200
            assert await seen(Diagnostics(runtime, None), "/metrics") == 200
            assert await seen(Diagnostics(runtime, None), "/debug/flags/v", "", b"5") == 404


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"leader-elect": ("perhaps",)}, "--leader-elect: 'perhaps' is not true or false"),
        ({"kube-api-qps": ("many",)}, "--kube-api-qps: 'many' is not a number"),
        ({"webhook-port": ("70000",)}, "--webhook-port: '70000' is not a port"),
        ({"tls-min-version": ("TLS9",)}, "--tls-min-version: there is no version 'TLS9'"),
    ],
)
def test_flags_that_mean_nothing_are_refused(given: dict[str, tuple[str]], why: str) -> None:
    with pytest.raises(BadFlag, match=re.escape(why)):
        program_options("core", given)


def test_leases_are_renewed_as_upstreams() -> None:
    elected = {"leader-elect": ("true",)}
    assert program_options("core", elected).lengths == (15, 10, 2)
    assert program_options("kubeadm-control-plane", elected).lengths == (60, 40, 5)
    short = {**elected, "leader-elect-lease-duration": ("5s",)}
    with pytest.raises(BadFlag, match="must be longer than"):
        program_options("core", short).terms(Key("default", "lease"), "me")
