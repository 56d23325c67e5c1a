"""Informers are consistent in whatever order lists, watches and answers arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from random import Random

import pytest

from kapy._aio.cooperation import STEPS_PER_TURN
from kapy.client.client import Client
from kapy.engine.cache import Cache, Change
from kapy.kube import Document, Key
from kapy.kube.errors import Expired, Forbidden, ServerError, TooManyRequests, Unreachable
from kapy.kube.http import Reply, Request
from kapy.kube.names import NODES
from tests.engine.fake_server import WIDGETS, FakeServer, widget


class Setting:
    def __init__(self, server: FakeServer, client: Client, cache: Cache) -> None:
        self.server, self.client, self.cache = server, client, cache
        self.widgets = cache.informer(WIDGETS)

    @property
    def names(self) -> list[str]:
        return [document["metadata"]["name"] for document in self.widgets.list()]


@asynccontextmanager
async def running() -> AsyncIterator[Setting]:
    server = FakeServer()
    client = Client(server)
    cache = Cache(client, random=Random(7))
    client.observe = cache.observe
    async with asyncio.TaskGroup() as group:
        task = group.create_task(cache.run())
        yield Setting(server, client, cache)
        task.cancel()


async def test_an_informer_shows_the_list_and_then_every_change() -> None:
    async with running() as here:
        here.server.put(widget("b"))
        here.server.put(widget("a"))
        await here.cache.wait_for_sync()
        assert here.names == ["a", "b"]
        here.server.put(widget("c"))
        here.server.remove("a")
        await asyncio.sleep(1)
        assert here.names == ["b", "c"]
        assert here.server.requests == [
            "LIST /apis/example.com/v1/widgets",
            "WATCH /apis/example.com/v1/widgets",
        ]


async def test_a_list_of_a_namespace_has_only_its_objects() -> None:
    async with running() as here:
        for namespace in ("a", "ab", "a-b", "b"):
            here.server.put(widget("one", namespace))
            here.server.put(widget("two", namespace))
        await here.cache.wait_for_sync()
        for namespace in ("a", "ab", "a-b", "b"):
            keys = [Key.of(document) for document in here.widgets.list(namespace)]
            assert keys == [Key(namespace, "one"), Key(namespace, "two")]
        assert here.widgets.list("c") == []


async def test_an_index_follows_the_objects() -> None:
    def colour(document: Document) -> list[str]:
        return [document["spec"]["colour"]]

    async with running() as here:
        here.server.put(widget("a", spec={"colour": "red"}))
        await here.cache.wait_for_sync()
        here.widgets.add_index("colour", colour)
        here.widgets.add_index("colour", lambda document: ["never asked"])
        here.server.put(widget("b", spec={"colour": "red"}))
        await asyncio.sleep(1)
        assert [
            Key.of(document).name for document in here.widgets.list_by_index("colour", "red")
        ] == [
            "a",
            "b",
        ]
        here.server.put(widget("a", spec={"colour": "blue"}))
        here.server.remove("b")
        await asyncio.sleep(1)
        assert here.widgets.list_by_index("colour", "red") == []
        assert [
            Key.of(document).name for document in here.widgets.list_by_index("colour", "blue")
        ] == ["a"]


async def test_handlers_are_called_once_for_each_object_in_order() -> None:
    heard: list[str] = []

    def note(change: Change) -> None:
        kind = "+" if change.old is None else "-" if change.new is None else "~"
        heard.append(f"{kind}{Key.of(change.document).name}{'!' if change.initial else ''}")

    async with running() as here:
        here.server.put(widget("b"))
        here.server.put(widget("a"))
        undo_early = here.widgets.subscribe(note)
        await here.cache.wait_for_sync()
        assert heard == ["+a!", "+b!"]
        undo_early()
        heard.clear()
        undo = here.widgets.subscribe(note)
        assert heard == ["+a!", "+b!"]
        heard.clear()
        here.server.put(widget("a", spec={}))
        here.server.remove("b")
        here.server.put(widget("c"))
        await asyncio.sleep(1)
        assert heard == ["~a", "-b", "+c"]
        undo()
        here.server.put(widget("d"))
        await asyncio.sleep(1)
        assert heard == ["~a", "-b", "+c"]


async def test_a_failing_handler_does_not_stop_the_others() -> None:
    heard: list[Key] = []

    def fail(change: Change) -> None:
        raise ValueError("a bug")

    async with running() as here:
        here.widgets.subscribe(fail)
        here.widgets.subscribe(lambda change: heard.append(Key.of(change.document)))
        here.server.put(widget("a"))
        await asyncio.sleep(1)
        here.server.put(widget("b"))
        await asyncio.sleep(1)
        assert [key.name for key in heard] == ["a", "b"]


async def test_a_write_is_read_back_at_once_and_delivered_once() -> None:
    heard: list[Change] = []
    async with running() as here:
        await here.cache.wait_for_sync()
        here.widgets.subscribe(heard.append)
        await here.client.create(WIDGETS, widget("a"))
        assert here.names == ["a"]
        await here.client.patch(WIDGETS, Key("default", "a"), {"spec": {"size": 1}})
        document = here.widgets.get(Key("default", "a"))
        assert document is not None
        assert document["spec"] == {"size": 1}
        await asyncio.sleep(1)
        assert len(heard) == 2


async def test_a_deleted_object_is_removed_at_once_despite_a_late_answer() -> None:
    async with running() as here:
        late = here.server.put(widget("a"))
        await here.cache.wait_for_sync()
        await here.client.delete(WIDGETS, Key("default", "a"))
        assert here.names == []
        here.cache.observe(WIDGETS, late)
        assert here.names == []
        again = await here.client.create(WIDGETS, widget("a"))
        assert here.widgets.get(Key("default", "a")) == again
        await asyncio.sleep(1)
        assert here.names == ["a"]


async def test_removing_the_last_finalizer_of_a_deleted_object_is_its_end() -> None:
    async with running() as here:
        here.server.put(widget("a", metadata={"finalizers": ["x/y"]}))
        await here.cache.wait_for_sync()
        await here.client.delete(WIDGETS, Key("default", "a"))
        assert here.names == ["a"]
        await here.client.patch(WIDGETS, Key("default", "a"), {"metadata": {"finalizers": None}})
        assert here.names == []


async def test_a_broken_watch_is_resumed_without_a_list() -> None:
    async with running() as here:
        await here.cache.wait_for_sync()
        await asyncio.sleep(60)
        here.server.break_watches()
        here.server.put(widget("a"))
        await asyncio.sleep(1)
        assert here.names == ["a"]
        assert [request.split()[0] for request in here.server.requests] == [
            "LIST",
            "WATCH",
            "WATCH",
        ]


async def test_a_bookmark_moves_the_point_of_resumption() -> None:
    async with running() as here:
        await here.cache.wait_for_sync()
        await asyncio.sleep(60)
        here.server.bookmark()
        await asyncio.sleep(1)
        here.server.forget_history()
        here.server.break_watches()
        await asyncio.sleep(1)
        assert [request.split()[0] for request in here.server.requests] == [
            "LIST",
            "WATCH",
            "WATCH",
        ]


async def test_a_watch_that_is_too_old_lists_again_and_misses_nothing() -> None:
    heard: list[str] = []
    async with running() as here:
        here.server.put(widget("a"))
        here.server.put(widget("b"))
        await here.cache.wait_for_sync()
        await asyncio.sleep(60)
        here.widgets.subscribe(
            lambda change: heard.append(f"{change.new is not None} {Key.of(change.document).name}")
        )
        heard.clear()
        here.server.break_watches(
            {"type": "ERROR", "object": Expired("too old resource version").status()}
        )
        here.server.remove("a")
        here.server.put(widget("c"))
        await asyncio.sleep(1)
        assert here.names == ["b", "c"]
        assert sorted(heard) == ["False a", "True c"]
        verbs = [request.split()[0] for request in here.server.requests]
        assert verbs == ["LIST", "WATCH", "LIST", "WATCH"]


async def test_a_stale_list_reverts_nothing() -> None:
    async with running() as here:
        here.server.put(widget("a", spec={"size": 1}))
        await here.cache.wait_for_sync()
        await asyncio.sleep(60)
        stale = dict(here.server.objects)
        here.server.put(widget("a", spec={"size": 2}))
        here.server.put(widget("b"))
        await asyncio.sleep(1)
        fresh = dict(here.server.objects)
        here.server.objects, here.server.stale_lists = stale, 2
        here.server.break_watches(
            {"type": "ERROR", "object": Expired("too old resource version").status()}
        )
        await asyncio.sleep(0.05)
        assert here.server.requests[-1].startswith("LIST")
        here.server.objects, here.server.stale_lists = fresh, 0
        await asyncio.sleep(1)
        assert here.names == ["a", "b"]
        document = here.widgets.get(Key("default", "a"))
        assert document is not None
        assert document["spec"] == {"size": 2}
        assert here.server.watches == 1


async def test_the_state_of_a_restored_server_is_accepted_after_a_while() -> None:
    async with running() as here:
        here.server.put(widget("a"))
        backup, version = dict(here.server.objects), here.server.version
        here.server.put(widget("b"))
        await here.cache.wait_for_sync()
        await asyncio.sleep(60)
        here.server.objects, here.server.version = backup, version
        here.server.forget_history()
        here.server.break_watches(
            {"type": "ERROR", "object": Expired("too old resource version").status()}
        )
        await asyncio.sleep(10)
        assert here.names == ["a"]
        here.server.put(widget("c"))
        await asyncio.sleep(1)
        assert here.names == ["a", "c"]


async def test_a_server_that_restarts_its_revisions_is_detected() -> None:
    async with running() as here:
        here.server.version = 500
        here.server.put(widget("a"))
        await here.cache.wait_for_sync()
        await asyncio.sleep(60)
        here.server.break_watches()
        here.server.objects.clear()
        here.server.version = 10
        here.server.forget_history()
        here.server.put(widget("b"))
        await asyncio.sleep(10)
        assert here.names == ["a"]  # nobody has told anything else
        here.server.bookmark()
        await asyncio.sleep(0.2)
        assert here.names == ["b"]
        here.server.put(widget("c"))
        await asyncio.sleep(1)
        assert here.names == ["b", "c"]


async def test_a_recreated_object_is_a_deletion_and_an_addition() -> None:
    heard: list[tuple[bool, bool]] = []
    async with running() as here:
        here.server.put(widget("a"))
        await here.cache.wait_for_sync()
        await asyncio.sleep(60)
        here.widgets.subscribe(
            lambda change: heard.append((change.old is not None, change.new is not None))
        )
        heard.clear()
        here.server.break_watches(
            {"type": "ERROR", "object": Expired("too old resource version").status()}
        )
        here.server.remove("a")
        here.server.put(widget("a"))
        await asyncio.sleep(1)
        assert heard == [(True, False), (False, True)]


@pytest.mark.parametrize(
    "error",
    [
        Unreachable("connection refused"),
        ServerError("etcd is slow"),
        TooManyRequests("too many"),
        Expired("too old"),
    ],
)
async def test_requests_to_a_failing_server_back_off(error: Exception) -> None:
    async with running() as here:
        here.server.faults.append(lambda request: error)
        await asyncio.sleep(60)
        in_first_minute = len(here.server.requests)
        assert in_first_minute < 20
        await asyncio.sleep(600)
        assert len(here.server.requests) - in_first_minute < 70
        here.server.faults.clear()
        here.server.put(widget("a"))
        await asyncio.sleep(60)
        assert here.names == ["a"]


async def test_a_watch_that_is_refused_at_once_each_time_does_not_spin() -> None:
    async with running() as here:
        here.server.faults.append(
            lambda request: Expired("too old") if "watch" in request.query else None
        )
        await asyncio.sleep(60)
        assert len(here.server.requests) < 40


@pytest.mark.parametrize(
    "error", [Expired("too old"), Unreachable("reset"), ServerError("broken"), Forbidden("no")]
)
async def test_watches_that_fail_for_one_reason_do_not_hurry_each_other(error: Exception) -> None:
    """A list of one succeeds, which seems to end the reason for which the others fail."""
    async with running() as here:
        for number in range(4):
            here.cache.informer(WIDGETS, labels=f"app=number{number}")
        await here.cache.wait_for_sync()
        here.server.faults.append(lambda request: error if "watch" in request.query else None)
        here.server.break_watches()
        await asyncio.sleep(60)
        assert len(here.server.requests) < 200


async def test_a_watch_that_ends_at_once_each_time_does_not_spin() -> None:
    async with running() as here:
        await here.cache.wait_for_sync()
        for _ in range(6000):
            here.server.break_watches()
            await asyncio.sleep(0.01)
        assert len(here.server.requests) < 30


async def test_retry_after_is_honoured() -> None:
    async with running() as here:
        here.server.faults.append(lambda request: TooManyRequests("wait", retry_after=100.0))
        await asyncio.sleep(99)
        assert len(here.server.requests) == 1
        await asyncio.sleep(2)
        assert len(here.server.requests) == 2


async def test_a_document_that_cannot_be_read_is_answered_with_a_new_list() -> None:
    async with running() as here:
        await here.cache.wait_for_sync()
        await asyncio.sleep(60)
        here.server.break_watches({"type": "ADDED", "object": {"nothing": True}})
        here.server.put(widget("a"))
        await asyncio.sleep(60)
        assert here.names == ["a"]


async def test_an_informer_asked_for_while_running_starts_at_once() -> None:
    async with running() as here:
        here.server.put(widget("a", metadata={"labels": {"app": "x"}}))
        await here.cache.wait_for_sync()
        labelled = here.cache.informer(WIDGETS, labels="app=x")
        assert labelled is here.cache.informer(WIDGETS, labels="app=x")
        assert labelled is not here.widgets
        assert not labelled.is_synced
        await labelled.wait_for_sync()
        assert [Key.of(document).name for document in labelled.list()] == ["a"]
        here.cache.observe(WIDGETS, here.server.put(widget("b")))
        assert [Key.of(document).name for document in labelled.list()] == ["a"]


async def test_nothing_is_left_when_the_cache_ends() -> None:
    async with running() as here:
        await here.cache.wait_for_sync()
        await asyncio.sleep(1)
        assert here.server.watches == 1
    assert here.server.watches == 0
    assert len(asyncio.all_tasks()) == 1


async def test_an_informer_requested_while_the_cache_stops_is_empty() -> None:
    cache = Cache(Client(FakeServer()))
    cache.informer(WIDGETS)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(cache.run())
        await cache.wait_for_sync()
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        assert cache.informer(NODES).list() == []
    assert len(asyncio.all_tasks()) == 1


async def test_other_tasks_run_while_a_watch_that_is_behind_catches_up() -> None:
    taken: list[int] = []
    async with running() as here:
        await here.cache.wait_for_sync()
        await asyncio.sleep(1)  # the watch is open
        for number in range(1000):
            here.server.put(widget(f"widget-{number}"))
        while len(here.widgets.keys()) < 1000:
            await asyncio.sleep(0)
            taken.append(len(here.widgets.keys()))
    assert max(later - earlier for earlier, later in pairwise([0, *taken])) <= STEPS_PER_TURN


class SlowBeginning:
    """A server far away, whose initial events take minutes in all."""

    over_network = True

    def __init__(self, number: int, seconds: float) -> None:
        self.number, self.seconds = number, seconds
        self.lists = 0

    async def __call__(self, request: Request) -> Reply:
        if "watch" not in request.query:
            self.lists += 1
        return Reply(200, self._events())

    async def _events(self) -> AsyncIterator[Document]:
        for number in range(self.number):
            await asyncio.sleep(self.seconds)
            document = widget(f"widget-{number}", metadata={"resourceVersion": str(number + 1)})
            yield {"type": "ADDED", "object": document}
        end = {"annotations": {"k8s.io/initial-events-end": "true"}, "resourceVersion": "99"}
        yield {"type": "BOOKMARK", "object": widget("", metadata=end)}
        await asyncio.sleep(1e6)


async def test_a_long_beginning_of_a_watch_is_read_to_its_end() -> None:
    server = SlowBeginning(number=10, seconds=20.0)
    cache = Cache(Client(server), random=Random(7))
    widgets = cache.informer(WIDGETS)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(cache.run())
        await asyncio.sleep(300)
        assert len(widgets.keys()) == 10
        assert server.lists == 0
        task.cancel()
