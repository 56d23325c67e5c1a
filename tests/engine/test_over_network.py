"""A runtime on a server behind real sockets, which goes away and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from kapy._aio.clock import system_clock
from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, listen
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.kubeconfig import Kubeconfig
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, Unauthorized, Unreachable
from kapy.kube.http import ADMIN, Reply, Request
from kapy.kube.names import CONFIG_MAPS, NAMESPACES
from tests.waiting import until


def config_map(name: str) -> Document:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@asynccontextmanager
async def server(kind: type[Server] = Server) -> AsyncIterator[Server]:
    opened = kind.open(None, clock=system_clock)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(opened.run())
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
        with suppress(AlreadyExists):
            await Client(opened.transport(ADMIN)).create(NAMESPACES, namespace)
        yield opened
        task.cancel()
    opened.close()


def application(opened: Server) -> Application:
    return Application(opened, Authenticator({"let-me-in": ADMIN}))


@pytest.mark.sockets
async def test_a_runtime_outlives_its_server() -> None:
    names: list[str] = []

    async def reconcile(key: Key) -> Result:
        names.append(key.name)
        return DONE

    async with server() as opened:
        people = Client(opened.transport(ADMIN))
        async with listen(application(opened)) as (host, port):
            transport = ApiTransport(Kubeconfig(f"http://{host}:{port}", token="let-me-in"))
            runtime = Runtime.on(transport, clock=system_clock)
            runtime.add(Controller("maps", reconcile)).watch(runtime.cache.informer(CONFIG_MAPS))
            running = asyncio.Task(runtime.run())
            await runtime.cache.wait_for_sync()
            await runtime.client.create(CONFIG_MAPS, config_map("before"))
            await until(lambda: "before" in names)
        with pytest.raises(Unreachable):
            await Client(transport).get(CONFIG_MAPS, Key("default", "before"))
        await people.create(CONFIG_MAPS, config_map("meanwhile"))
        assert "meanwhile" not in names
        async with listen(application(opened), host=host, port=port):
            await until(lambda: "meanwhile" in names)
            await people.create(CONFIG_MAPS, config_map("after"))
            await until(lambda: "after" in names)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await transport.aclose()
    assert names.count("meanwhile") == 1
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.sockets
async def test_a_wrong_token_is_unauthorized_and_not_in_the_error() -> None:
    async with server() as opened, listen(application(opened)) as (host, port):
        transport = ApiTransport(Kubeconfig(f"http://{host}:{port}", token="guessed"))
        with pytest.raises(Unauthorized) as caught:
            await Client(transport).list(CONFIG_MAPS)
        assert "guessed" not in str(caught.value)
        await transport.aclose()


@pytest.mark.sockets
async def test_streams_of_any_kind_end_with_their_client() -> None:
    closed = asyncio.Event()

    class Silent:
        """Events that never come."""

        def __aiter__(self) -> AsyncIterator[Document]:
            return self

        async def __anext__(self) -> Document:
            await asyncio.get_running_loop().create_future()
            raise AssertionError

        async def aclose(self) -> None:
            closed.set()

    class OfSilence(Server):
        """Watches tell nothing."""

        async def __call__(self, request: Request) -> Reply:
            reply = await super().__call__(request)
            if "watch" not in request.query:
                return reply
            stream: Any = reply.body
            await stream.aclose()
            return Reply(reply.status, Silent(), reply.headers)

    async with server(OfSilence) as opened, listen(application(opened)) as (host, port):
        transport = ApiTransport(Kubeconfig(f"http://{host}:{port}", token="let-me-in"))
        async with Client(transport).watch(CONFIG_MAPS, resource_version="0"):
            assert not closed.is_set()
        await transport.aclose()
        await asyncio.wait_for(closed.wait(), 10)
