"""A program whose server is elsewhere, on days on which something is wrong with the server.

No request more than is of use, nothing lost, the reason told, and back at work within seconds. The
server is the real one; what leads to it is broken on purpose.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.apiserver.server import Server
from kapy.client.client import Client
from kapy.client.rate_limit import RateLimited
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import (
    ApiError,
    Forbidden,
    Invalid,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from kapy.kube.http import ADMIN, Reply, Request, Transport
from kapy.kube.names import CONFIG_MAPS, CRDS, NODES, SECRETS, Resource
from tests.core.environment import crd_of, default_namespace
from tests.engine.test_server_faults import COPY, Copier

WIDGETS = Resource("infrastructure.cluster.x-k8s.io", "v1beta2", "widgets", "Widget")
Fault = Callable[[Request], Exception | None]


class Wire:
    """The way to the server. fault: what is wrong with it for a request. lives: seconds after which
    every watch breaks. asked: how often what was asked."""

    over_network = True
    host = "far:6443"

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.fault: Fault = lambda _: None
        self.lives: float | None = None
        self.asked: Counter[str] = Counter()
        self.accepts: set[str] = set()
        self._open: list[_Breaking] = []

    async def __call__(self, request: Request) -> Reply:
        watches = "watch" in request.query
        self.asked["WATCH" if watches else request.method] += 1
        self.accepts.add(request.headers.get("accept", ""))
        await asyncio.sleep(0.001)
        error = self.fault(request)
        if isinstance(error, ApiError):
            after = error.retry_after
            headers = {} if after is None else {"retry-after": str(after)}
            return Reply(error.code, error.status(), headers)
        if error is not None:
            raise error
        reply = await self._transport(request)
        if not watches or reply.status >= 400:
            return reply
        self._open.append(_Breaking(reply.body, self.lives))
        return Reply(reply.status, self._open[-1], reply.headers)

    def breaks(self, fault: Fault) -> None:
        """From now on this is wrong with all requests; no watch lives on."""
        self.fault = fault
        for stream in self._open:
            stream.cut()
        self._open.clear()

    def works(self) -> None:
        """Nothing is wrong any more."""
        self.fault, self.lives = lambda _: None, None

    def since(self) -> Counter[str]:
        """Return the requests since the last call."""
        request, self.asked = self.asked, Counter()
        return request


class _Breaking:
    """A watch that breaks after some seconds, or when it is cut."""

    def __init__(self, events: Any, seconds: float | None) -> None:
        self._events = events
        loop = asyncio.get_running_loop()
        self._until = None if seconds is None else loop.time() + seconds
        self._waiting: asyncio.Timeout | None = None

    def __aiter__(self) -> AsyncIterator[Document]:
        return self

    async def __anext__(self) -> Document:
        try:
            async with asyncio.timeout_at(self._until) as self._waiting:
                event: Document = await self._events.__anext__()
        except TimeoutError:
            raise Unreachable("the connection was reset") from None
        self._waiting = None
        return event

    def cut(self) -> None:
        self._until = asyncio.get_running_loop().time()
        if self._waiting is not None:
            self._waiting.reschedule(self._until)

    async def aclose(self) -> None:
        await self._events.aclose()


class Far:
    """A runtime with a controller that copies ConfigMaps, and people at the server itself."""

    def __init__(self, seed: int = 0) -> None:
        clock = loop_clock()
        self.ahead = timedelta()
        self.server = Server.open(None, clock=clock)
        self.people = Client(self.server.transport(ADMIN), field_manager="people")
        self.wire = Wire(self.server.transport(ADMIN))
        paced = RateLimited(self.wire, qps=100, burst=200)
        own = lambda: clock() + self.ahead  # noqa: E731
        self.runtime = Runtime.on(paced, clock=own, random=Random(seed))
        self.copier = Copier(self.runtime)

    async def ask_for(self, name: str) -> None:
        """Make a ConfigMap that is to be copied."""
        metadata = {"name": name, "namespace": "default", "labels": {"app": "source"}}
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        await self.people.create(CONFIG_MAPS, document)

    async def has_copy(self, name: str, within: float) -> bool:
        """Whether the copy comes in time."""
        for _ in range(int(within * 20)):
            try:
                await self.people.get(CONFIG_MAPS, Key("default", name + COPY))
            except NotFound:
                await asyncio.sleep(0.05)
            else:
                return True
        return False

    @property
    def matter(self) -> str:
        """Return the errors that the runtime reports."""
        reach = self.runtime.availability
        assert reach is not None
        messages = [
            f"{resource.plural}: {error}" for resource, error in self.runtime.cache.failures()
        ]
        return "; ".join(
            [reach.unavailable_reason, *messages] if reach.unavailable_reason else messages
        )


@asynccontextmanager
async def far() -> AsyncIterator[Far]:
    here = Far()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(here.server.run())]
        await default_namespace(here.people)
        await here.people.create(CRDS, crd_of(WIDGETS))
        tasks.append(group.create_task(here.runtime.run()))
        await here.runtime.working.wait()
        await here.ask_for("before")
        assert await here.has_copy("before", within=2)
        here.wire.since()
        yield here
        for task in tasks:
            task.cancel()
    here.server.close()


def no_answer(_: Request) -> Exception | None:
    return Unreachable("connection refused")


def not_accepted(_: Request) -> Exception | None:
    return Unauthorized("x509: certificate has expired or is not yet valid")


def too_many(_: Request) -> Exception | None:
    return TooManyRequests("too many requests, please try again later", retry_after=1.0)


def failing(_: Request) -> Exception | None:
    return ServerError("etcdserver: no leader")


@pytest.mark.parametrize(
    ("fault", "seconds", "at_most", "words"),
    [
        (failing, 600, 300, "etcdserver: no leader"),
        (no_answer, 600, 300, "connection refused"),
        (
            not_accepted,
            600,
            300,
            "of this program (x509: certificate has expired",
        ),
        (too_many, 60, 120, ""),
    ],
)
async def test_requests_to_an_unreachable_server_back_off(
    fault: Fault, seconds: float, at_most: int, words: str
) -> None:
    async with far() as here:
        here.wire.breaks(fault)
        for number in range(20):
            await here.people.patch(
                CONFIG_MAPS, Key("default", "before"), {"data": {"x": str(number)}}
            )
            await here.ask_for(f"meanwhile{number}")
        await asyncio.sleep(seconds)
        assert words in here.matter
        assert here.wire.since().total() <= at_most

        here.wire.works()
        assert await here.has_copy("meanwhile19", within=15)
        assert await here.has_copy("meanwhile0", within=5)
        await asyncio.sleep(60)
        assert here.matter == ""
        assert here.wire.since().total() <= 150
        await asyncio.sleep(3600)
        assert here.wire.since().total() <= 60


async def test_the_recovery_of_one_watch_ends_the_backoff_of_all() -> None:
    """Their pauses have grown long meanwhile, and not in step."""
    async with far() as here:
        informers = [
            here.runtime.cache.informer(resource) for resource in (SECRETS, WIDGETS, CRDS, NODES)
        ]
        await here.runtime.cache.wait_for_sync()
        here.wire.breaks(failing)
        await asyncio.sleep(600)
        here.wire.works()
        here.wire.since()
        await asyncio.sleep(13)
        assert here.matter == ""
        assert here.wire.since().total() <= 2 * (len(informers) + 1)
        assert all(informer.is_synced for informer in informers)


async def test_watches_that_break_every_five_seconds_cost_one_request_each() -> None:
    async with far() as here:
        here.wire.lives = 5.0
        await asyncio.sleep(20)
        here.wire.since()
        for number in range(10):
            await here.ask_for(f"number{number}")
            assert await here.has_copy(f"number{number}", within=2)
            await asyncio.sleep(7)
        watches = here.wire.since()
        assert watches["WATCH"] <= 30
        assert watches["GET"] <= 20


async def test_a_server_that_starts_anew_is_noticed_within_seconds() -> None:
    async with far() as here:
        for number in range(5):
            here.wire.breaks(no_answer)
            await here.ask_for(f"number{number}")
            await asyncio.sleep(4)
            here.wire.works()
            assert await here.has_copy(f"number{number}", within=8)


async def test_a_clock_that_jumps_changes_nothing() -> None:
    async with far() as here:
        for days in (-1, 300, -600):
            here.ahead += timedelta(days=days)
            await here.ask_for(f"after{days}")
            assert await here.has_copy(f"after{days}", within=2)
            await asyncio.sleep(60)
        assert here.wire.since().total() <= 20


@pytest.mark.parametrize("how", ["forbidden", "no such kind"])
async def test_a_kind_that_cannot_be_read_is_reported_and_retried(how: str) -> None:
    keys: list[str] = []

    async def reconcile(key: Key) -> Result:
        keys.append(key.name)
        return DONE

    async with far() as here:

        def fault(request: Request) -> Exception | None:
            if "widgets" not in request.path:
                return None
            if how == "forbidden":
                return Forbidden(
                    'widgets is forbidden: User "kapy" cannot list resource "widgets" in API group'
                )
            return NotFound("the server could not find the requested resource")

        here.wire.fault = fault
        widgets = here.runtime.cache.informer(WIDGETS)
        Controller("widgets", reconcile).watch(widgets)
        await asyncio.sleep(3600)
        assert here.wire.since().total() <= 200
        assert "widgets: " in here.matter
        await here.ask_for("meanwhile")
        assert await here.has_copy("meanwhile", within=2)  # the others work on
        here.wire.works()
        await asyncio.sleep(45)
        assert widgets.is_synced
        assert here.matter == ""


async def test_a_kind_with_a_late_crd_is_read_at_once() -> None:
    async with far() as here:
        late = Resource("example.com", "v1beta2", "gadgets", "Gadget")
        here.runtime.cache.informer(CRDS)
        gadgets = here.runtime.cache.informer(late)
        await asyncio.sleep(600)
        assert "gadgets: " in here.matter
        await here.people.create(CRDS, crd_of(late))
        await asyncio.sleep(2)
        assert gadgets.is_synced


@pytest.mark.parametrize("answer", ["streams lists", "refuses to", "does not know how to"])
async def test_a_cache_is_filled_however_the_server_lists(answer: str) -> None:
    class Old:
        """A server that does not know `sendInitialEvents` sends all objects, and no bookmark that
        says that these are all."""

        over_network = True

        def __init__(self, transport: Transport) -> None:
            self._transport = transport

        async def __call__(self, request: Request) -> Reply:
            unknown = ("sendInitialEvents", "resourceVersionMatch", "allowWatchBookmarks")
            query = {name: text for name, text in request.query.items() if name not in unknown}
            return await self._transport(Request(request.method, request.path, query))

    def refuse(request: Request) -> Exception | None:
        if "sendInitialEvents" not in request.query:
            return None
        return Invalid(
            "sendInitialEvents is forbidden unless the WatchList feature gate is enabled"
        )

    async with far() as here:
        for number in range(3):
            await here.ask_for(f"number{number}")
        if answer == "refuses to":
            here.wire.fault = refuse
        way: Any = Old(here.wire) if answer == "does not know how to" else here.wire
        here.wire.since()
        runtime = Runtime.on(way, clock=here.runtime.clock, random=Random(1))
        maps = runtime.cache.informer(CONFIG_MAPS)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(runtime.run())
            await asyncio.sleep(120)
            result = here.wire.since()
            assert (result["GET"] == 0) is (answer == "streams lists")
            await here.ask_for("later")
            await asyncio.sleep(1)
            names = {document["metadata"]["name"] for document in maps.list()}
            assert {"number0", "number2", "later"} <= names
            task.cancel()


async def test_unread_objects_are_not_cached() -> None:
    async with far() as here:
        people, cache = here.people, here.runtime.cache
        secret: Document = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "s", "namespace": "default"},
            "type": "example.com/ours",
            "data": {"password": "c2VjcmV0"},
        }
        await people.create(SECRETS, secret)
        other = {**secret, "metadata": {**secret["metadata"], "name": "t"}, "type": "Opaque"}
        await people.create(SECRETS, other)
        metadata = cache.informer(SECRETS, metadata=True)
        ours = cache.informer(SECRETS, fields="type=example.com/ours")
        definitions, maps = cache.informer(CRDS), cache.informer(CONFIG_MAPS)
        await cache.wait_for_sync()
        document = metadata.raw(Key("default", "s"))
        assert document is not None
        assert document.keys() == {"apiVersion", "kind", "metadata"}
        assert (document["kind"], document["apiVersion"]) == ("Secret", "v1")
        assert any("PartialObjectMetadata" in accept for accept in here.wire.accepts)
        assert [item["metadata"]["name"] for item in ours.list()] == ["s"]

        await people.apply(
            CONFIG_MAPS,
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "applied", "namespace": "default"},
                "data": {"x": "1"},
            },
        )
        await asyncio.sleep(1)
        for name, operations in (("before", ["Update", "Update"]), ("applied", ["Apply"])):
            stored = maps.raw(Key("default", name))
            assert stored is not None
            fields = stored["metadata"].get("managedFields") or []
            assert [field["operation"] for field in fields] == operations
            assert all(
                "fieldsV1" not in field for field in fields if field["operation"] == "Update"
            )

        words = {"type": "string"}
        described = {"type": "object", "properties": {"description": words}, "description": "x"}
        for kind, labels in (("Thing", {}), ("Widget", {"cluster.x-k8s.io/v1beta2": "v1beta2"})):
            crd = crd_of(Resource("example.com", "v1beta2", f"{kind.lower()}s", kind))
            crd["metadata"]["labels"] = labels
            schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
            schema["properties"]["spec"] = described
            await people.create(CRDS, crd)
        await asyncio.sleep(1)
        bare = definitions.raw(Key("", "things.example.com"))
        stored = definitions.raw(Key("", "widgets.example.com"))
        assert bare is not None
        assert stored is not None
        assert "schema" not in bare["spec"]["versions"][0]
        schema = stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        assert schema["properties"]["spec"] == {
            "type": "object",
            "properties": {"description": words},
        }
