"""A manager over sockets, on days on which something is wrong with its API server.

It says so at /readyz, asks little, does not end, and does what came meanwhile when that is over.
Longer days, and what else can be wrong, are in tests/engine/test_far_away, on virtual time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import msgspec
import pytest

from kapy._aio.clock import system_clock
from kapy.api.cluster import Cluster
from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application
from kapy.apiserver.serving.asgi_messages import Receive, Scope, Send
from kapy.apiserver.serving.listener import Listener
from kapy.apps.program.process import run_process
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, ServerError, TooManyRequests, Unauthorized
from kapy.kube.names import LEASES
from kapy.testing.story import Story
from tests.apps.program.test_process import (
    CLUSTER_ROLES,
    CORE,
    USERS,
    Ground,
    add,
    ground,
    manager_at,
    until_ready_is,
)
from tests.core.environment import default_namespace
from tests.real.servers import free_port

GROUP = "cluster.x-k8s.io"


class Front:
    """The address at which a manager finds the server.

    wrong: the error that is returned in place of the server's responses, if any.
    asked: the number of requests.
    """

    def __init__(self, server: Server) -> None:
        self.port = free_port()
        self.wrong: ApiError | None = None
        self.asked = 0
        self._server = server
        self._application: Application | None = None
        self._listener: Listener | None = None
        self._sockets: asyncio.Server | None = None

    async def open(self) -> None:
        """Begin to answer."""
        self._application = Application(self._server, Authenticator(USERS))
        self._listener = Listener(self)
        loop = asyncio.get_running_loop()
        self._sockets = await loop.create_server(self._listener.protocol, "127.0.0.1", self.port)

    async def close(self) -> None:
        """As if the server was killed."""
        assert self._sockets is not None
        assert self._listener is not None
        self._sockets.close()
        await self._listener.abort()

    async def breaks(self, wrong: ApiError) -> None:
        """Close all connections, and answer every later request with this error."""
        self.wrong = wrong
        await self.close()
        await self.open()

    async def mends(self) -> None:
        """Pass requests on to the server again."""
        self.wrong = None

    async def stop(self) -> None:
        """As an Application; what is open is aborted anyway."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        if self.wrong is None:
            assert self._application is not None
            await self._application(scope, receive, send)
            return
        headers = [(b"content-type", b"application/json")]
        if self.wrong.retry_after is not None:
            headers.append((b"retry-after", b"%d" % self.wrong.retry_after))
        body = msgspec.json.encode(self.wrong.status())
        start = {"type": "http.response.start", "status": self.wrong.code, "headers": headers}
        await send(start)
        await send({"type": "http.response.body", "body": body})


class Day:
    """A core manager, the way to its server, and people at the server itself."""

    def __init__(self, here: Ground, front: Front, port: int) -> None:
        self.front, self.port = front, port
        self.client = here.client

    async def asks_for(self, name: str) -> None:
        """People make a Cluster."""
        reference = {"apiGroup": f"infrastructure.{GROUP}", "kind": "DevCluster", "name": name}
        document: Document = {
            "apiVersion": f"{GROUP}/v1beta2",
            "kind": "Cluster",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"infrastructureRef": reference},
        }
        await self.client.create(Cluster.RESOURCE, document)

    async def is_done(self, name: str) -> None:
        """The manager has seen it."""
        story = Story(self.client, [Cluster.RESOURCE])
        await story.until(
            Cluster, name, lambda cluster: bool(cluster.metadata.finalizers), within=30
        )

    async def says(self, words: str) -> None:
        await until_ready_is(self.port, lambda page: words in page)

    async def is_well(self) -> None:
        await until_ready_is(self.port, lambda page: page == "ok")


@asynccontextmanager
async def day() -> AsyncIterator[Day]:
    async with AsyncExitStack() as stack:
        here = await stack.enter_async_context(ground())
        await default_namespace(here.client)
        front = Front(here.server)
        await front.open()
        stack.push_async_callback(front.close)
        port = free_port()
        manager = manager_at(f"http://127.0.0.1:{front.port}", "manager", (4.0, 2.0, 0.3))
        manager = replace(manager, options=replace(manager.options, health=f"127.0.0.1:{port}"))
        await here.grant("manager", rule("*"))
        await stack.enter_async_context(run_process(manager, add, system_clock))
        result = Day(here, front, port)
        await result.asks_for("first")
        await result.is_done("first")
        await result.is_well()
        yield result


def rule(group: str) -> Document:
    """Everything in an API group."""
    return {"apiGroups": [group], "resources": ["*"], "verbs": ["*"]}


WRONG: list[tuple[ApiError, str, int]] = [
    (TooManyRequests("later", retry_after=1.0), "answers 429", 90),
    (Unauthorized("Unauthorized"), "does not accept the credentials of this program", 90),
    (ServerError("etcd is away"), "etcd is away", 250),
]


@pytest.mark.sockets
async def test_faults_of_the_server_are_reported_cost_little_and_pass() -> None:
    async with day() as here:
        lease = Key("default", CORE.lease)
        holder = (await here.client.get(LEASES, lease))["spec"]["holderIdentity"]
        for number, (wrong, words, at_most) in enumerate(WRONG):
            await here.front.breaks(wrong)
            await here.asks_for(f"number-{number}")
            await here.says(words)
            here.front.asked = 0
            await asyncio.sleep(1)
            assert here.front.asked <= at_most, words
            await here.front.mends()
            await here.is_done(f"number-{number}")
            await here.is_well()

        role = Key("", "manager")
        await here.client.patch(CLUSTER_ROLES, role, {"rules": [rule(GROUP), rule(LEASES.group)]})
        await here.front.close()
        await here.front.open()
        await here.says("ok, but: ")  # it has read all once: its webhooks are of use still
        await here.says("needs get, list and watch of secrets in the API group ''")
        await here.client.patch(CLUSTER_ROLES, role, {"rules": [rule("*")]})
        await here.is_well()

        await here.front.close()
        await here.asks_for("away")
        await here.says("Connection refused")
        await asyncio.sleep(3)  # longer than the lease may go without a renewal
        here.front.asked = 0
        await here.front.open()
        await here.is_done("away")
        await here.is_well()
        assert here.front.asked <= 150
        assert (await here.client.get(LEASES, lease))["spec"]["holderIdentity"] == holder
