"""Recorded events are counted, aggregated, rate-limited and written to the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kapy._aio.clock import loop_clock
from kapy.client.client import Client
from kapy.engine.events import EventWriter, Recorder
from kapy.kube import Document
from kapy.kube.errors import Forbidden, NotFound, ServerError, Unreachable
from kapy.kube.http import Reply, Request
from kapy.kube.patch import merge_patch

MACHINE: Document = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "Machine",
    "metadata": {"name": "m", "namespace": "default", "uid": "u-1"},
}


class EventServer:
    """Keeps events by name; `fault` is raised instead of an answer."""

    def __init__(self) -> None:
        self.events: dict[str, Document] = {}
        self.fault: Exception | None = None
        self.requests = 0

    async def __call__(self, request: Request) -> Reply:
        self.requests += 1
        if isinstance(self.fault, Unreachable):
            raise self.fault
        if self.fault is not None:
            return Reply(self.fault.code, self.fault.status())  # type: ignore[attr-defined]
        body: Any = request.body
        if request.method == "POST":
            assert body["metadata"]["name"] not in self.events
            self.events[body["metadata"]["name"]] = body
            return Reply(201, body)
        name = request.path.split("/")[-1]
        if name not in self.events:
            return Reply(404, NotFound("gone").status())
        self.events[name] = merge_patch.apply(self.events[name], body)
        return Reply(200, self.events[name])

    @property
    def shown(self) -> list[tuple[str, int]]:
        return [(event["message"], event["count"]) for event in self.events.values()]


@asynccontextmanager
async def recording() -> AsyncIterator[tuple[Recorder, EventServer]]:
    server = EventServer()
    journal = EventWriter(Client(server), loop_clock())
    async with asyncio.TaskGroup() as group:
        task = group.create_task(journal.run())
        yield Recorder(journal, "kapy"), server
        task.cancel()


async def test_an_event_has_the_form_that_client_go_gives_it() -> None:
    async with recording() as (recorder, server):
        recorder.for_component("machine-controller").normal(
            MACHINE, "SuccessfulSetNodeRef", "node-1"
        )
        await asyncio.sleep(1)
        ((name, event),) = server.events.items()
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "m.18867251edfa0000", "namespace": "default"},
        "involvedObject": {
            "kind": "Machine",
            "namespace": "default",
            "name": "m",
            "uid": "u-1",
            "apiVersion": "cluster.x-k8s.io/v1beta2",
        },
        "reason": "SuccessfulSetNodeRef",
        "message": "node-1",
        "source": {"component": "machine-controller"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
        "type": "Normal",
        "reportingComponent": "machine-controller",
        "reportingInstance": "",
    }
    assert name == event["metadata"]["name"]


async def test_equal_events_are_counted_and_others_are_not() -> None:
    async with recording() as (recorder, server):
        for _ in range(3):
            recorder.warning(MACHINE, "Failed", "no")
            await asyncio.sleep(60)
        recorder.normal(MACHINE, "Failed", "no")
        recorder.for_component("other").warning(MACHINE, "Failed", "no")
        await asyncio.sleep(1)
        assert server.shown == [("no", 3), ("no", 1), ("no", 1)]
        (first, *_) = server.events.values()
        assert first["lastTimestamp"] == "2026-01-01T00:02:00Z"


async def test_events_that_differ_only_in_their_message_are_aggregated() -> None:
    async with recording() as (recorder, server):
        for number in range(14):
            recorder.normal(MACHINE, "Scaled", f"to {number}")
        await asyncio.sleep(1)
        *single, combined = server.shown
        assert single == [(f"to {number}", 1) for number in range(9)]
        assert combined == ("(combined from similar events): to 13", 5)


async def test_a_flood_of_events_is_rate_limited() -> None:
    async with recording() as (recorder, server):
        for _ in range(100):
            recorder.normal(MACHINE, "Loop", "again")
        await asyncio.sleep(1)
        assert server.shown == [("again", 25)]
        await asyncio.sleep(600)
        for _ in range(100):
            recorder.normal(MACHINE, "Loop", "again")
        await asyncio.sleep(1)
        assert server.shown == [("again", 27)]


async def test_an_expired_event_is_created_again() -> None:
    async with recording() as (recorder, server):
        recorder.normal(MACHINE, "Scaled", "up")
        await asyncio.sleep(1)
        server.events.clear()
        recorder.normal(MACHINE, "Scaled", "up")
        await asyncio.sleep(1)
        assert server.shown == [("up", 1)]


async def test_events_wait_for_an_unreachable_server_up_to_a_limit() -> None:
    async with recording() as (recorder, server):
        server.fault = Unreachable("connection refused")
        recorder.normal(MACHINE, "First", "one")
        await asyncio.sleep(10)
        server.fault = ServerError("no leader")
        await asyncio.sleep(10)
        server.fault = None
        await asyncio.sleep(15)
        assert server.shown == [("one", 1)]
        server.fault = Unreachable("connection refused")
        recorder.normal(MACHINE, "Second", "two")
        await asyncio.sleep(300)
        server.fault = None
        recorder.normal(MACHINE, "Third", "three")
        await asyncio.sleep(1)
        assert server.shown == [("one", 1), ("three", 1)]


async def test_a_refused_event_is_dropped_at_once() -> None:
    async with recording() as (recorder, server):
        server.fault = Forbidden("the namespace is being terminated")
        recorder.normal(MACHINE, "First", "one")
        await asyncio.sleep(100)
        assert server.requests == 1


async def test_a_full_queue_drops_the_oldest_event_without_waiting() -> None:
    async with recording() as (recorder, server):
        for number in range(1500):
            about = {**MACHINE, "metadata": {"name": f"m{number}", "namespace": "default"}}
            recorder.normal(about, "Created", "it")
        await asyncio.sleep(10)
        names = [event["involvedObject"]["name"] for event in server.events.values()]
        assert names == [f"m{number}" for number in range(500, 1500)]
