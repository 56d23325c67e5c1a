"""Faults happen as often as they are told to, and the same way for the same seed."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from kapy._aio.clock import loop_clock
from kapy.apiserver.server import Server
from kapy.client.client import Client
from kapy.kube import Key
from kapy.kube.errors import ApiError, Conflict, Expired, KapyError, Unreachable
from kapy.kube.http import ADMIN
from kapy.kube.names import NAMESPACES
from kapy.testing.faults import BAD_DAY, Faults, Rates
from tests.engine.fake_server import WIDGETS, FakeServer, widget

KEY = Key("default", "a")


async def test_a_lost_request_is_not_executed_and_a_lost_response_is() -> None:
    server = FakeServer()
    with pytest.raises(Unreachable):
        await Client(Faults(server, Rates(lost_request=1))).create(WIDGETS, widget("a"))
    assert server.objects == {}
    with pytest.raises(Unreachable):
        await Client(Faults(server, Rates(lost_answer=1))).create(WIDGETS, widget("a"))
    assert len(server.objects) == 1


async def test_only_changes_of_existing_objects_conflict() -> None:
    client = Client(Faults(FakeServer(), Rates(conflict=1)))
    await client.create(WIDGETS, widget("a"))
    await client.get(WIDGETS, KEY)
    with pytest.raises(Conflict):
        await client.patch(WIDGETS, KEY, {"spec": {}})


async def test_throttling_has_a_retry_after_and_ends_with_the_faults() -> None:
    faults = Faults(FakeServer(), Rates(throttled=1))
    client = Client(faults)
    with pytest.raises(ApiError) as caught:
        await client.list(WIDGETS)
    assert caught.value.retry_after == 1.0
    faults.calm()
    await client.list(WIDGETS)


async def test_a_stale_list_shows_an_earlier_state() -> None:
    client = Client(Faults(FakeServer(), Rates(stale_list=1)))
    assert (await client.list(WIDGETS)).items == []
    await client.create(WIDGETS, widget("a"))
    assert (await client.list(WIDGETS)).items == []


@pytest.mark.parametrize(
    ("rates", "error"), [(Rates(watch_breaks=1), Unreachable), (Rates(watch_expires=1), Expired)]
)
async def test_watches_end_in_the_requested_way(rates: Rates, error: type[Exception]) -> None:
    client = Client(Faults(FakeServer(), rates))
    async with client.watch(WIDGETS, resource_version="10") as events:
        with pytest.raises(error):
            await anext(events)


async def test_the_same_seed_gives_the_same_faults() -> None:
    async def day(seed: int) -> list[str]:
        client = Client(Faults(FakeServer(), BAD_DAY, seed=seed))
        came = []
        for number in range(200):
            try:
                await client.create(WIDGETS, widget(f"w{number}"))
                came.append("made")
            except KapyError as error:
                came.append(type(error).__name__)
        return [*came, str(asyncio.get_running_loop().time())]

    entry, again, other = await day(1), await day(1), await day(2)
    assert entry[:-1] == again[:-1] != other[:-1]
    assert {"made", "Unreachable", "ServerError"} <= set(entry)


async def test_a_watch_does_not_expire_between_the_events_it_begins_with() -> None:
    server = Server.open(None, clock=loop_clock())
    client = Client(server.transport(ADMIN))
    for number in range(50):
        await client.create(NAMESPACES, {"metadata": {"name": f"n{number}"}})
    complete = 0
    for seed in range(20):
        faults = Faults(server.transport(ADMIN), Rates(watch_expires=0.3), seed=seed)
        with suppress(Expired):
            async with Client(faults).watch(NAMESPACES, initial_events=True) as events:
                async for event in events:
                    if event.type == "BOOKMARK":
                        complete += 1
                        break
    server.close()
    assert complete >= 5
