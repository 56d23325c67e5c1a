"""Large requests: computed beside the event loop, a few at once, each user in turn."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from typing import Any

import pytest

from kapy.apiserver.request.context import is_large_request
from kapy.apiserver.request.limits import large_requests
from kapy.apiserver.request.limits.large_requests import (
    LARGE,
    LARGE_YAML,
    PLACES,
    WAITING,
    LargeRequestQueue,
)
from kapy.apiserver.resources.sizes import MOST_STORED, is_longer
from kapy.kube.errors import TooManyRequests
from kapy.kube.http import MERGE_PATCH, Arrival, Request, User
from tests.apiserver.network_client import Calls
from tests.apiserver.requester import CONFIG_MAPS, GIZMOS, config_map, gizmo, running

ANN, BOB, CID, ROOT = User("ann"), User("bob"), User("cid"), User("root", ("system:masters",))


class Slow:
    """Computations that end when they are let go."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self._go = threading.Semaphore(0)

    def one(self, name: str) -> Any:
        def work() -> str:
            self.begun.append(name)
            assert self._go.acquire(timeout=30)
            return name

        return work

    def go(self, count: int = 1) -> None:
        self._go.release(count)


async def begun(slow: Slow, count: int) -> list[str]:
    while len(slow.begun) < count:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    return slow.begun


@pytest.mark.sockets
async def test_each_user_has_one_slot_and_users_take_turns() -> None:
    places, slow = LargeRequestQueue(), Slow()
    async with asyncio.TaskGroup() as group:
        for user, names in ((ANN, ("a1", "a2", "a3")), (BOB, ("b1", "b2")), (CID, ("c1",))):
            for name in names:
                group.create_task(places.run(user, slow.one(name)))
                await asyncio.sleep(0)
        assert sorted(await begun(slow, PLACES)) == ["a1", "b1"]
        order = []
        for count in range(PLACES + 1, 7):
            slow.go()
            order.append((await begun(slow, count))[-1])
        slow.go(PLACES)
    # The first place that is free is for whoever waits and has none: Cid does not wait for Ann.
    assert order.index("c1") <= 1
    assert sorted(slow.begun) == ["a1", "a2", "a3", "b1", "b2", "c1"]


@pytest.mark.sockets
async def test_too_many_waiting_requests_are_refused_except_for_superusers() -> None:
    places, slow = LargeRequestQueue(), Slow()
    async with asyncio.TaskGroup() as group:
        for user in (ANN, ROOT):
            for _ in range(1 + WAITING):
                group.create_task(places.run(user, slow.one(user.name)))
        await begun(slow, 2)
        with pytest.raises(TooManyRequests):
            await places.run(ANN, slow.one("more"))
        group.create_task(places.run(ROOT, slow.one("root")))
        slow.go(2 * WAITING + 3)
    assert "more" not in slow.begun


@pytest.mark.sockets
async def test_a_cancelled_request_frees_its_slot_when_its_thread_ends() -> None:
    places, slow = LargeRequestQueue(), Slow()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(places.run(ANN, slow.one(f"a{at}"))) for at in (1, 2, 3)]
        await begun(slow, 1)
        tasks[0].cancel()
        tasks[1].cancel()
        await asyncio.sleep(0.01)
        assert slow.begun == ["a1"]
        slow.go(2)
    assert tasks[2].result() == "a3"
    assert slow.begun == ["a1", "a3"]


@pytest.mark.sockets
async def test_the_switch_interval_is_short_only_during_large_requests() -> None:
    before = sys.getswitchinterval(), gc.get_threshold()
    settings = await LargeRequestQueue().run(
        ANN, lambda: (sys.getswitchinterval(), gc.get_threshold())
    )
    await asyncio.sleep(0)
    assert settings[0] == pytest.approx(large_requests.SWITCH_SECONDS)
    assert settings[1][2] == large_requests.OLD
    assert before == (sys.getswitchinterval(), gc.get_threshold())


async def test_a_failure_of_a_computation_is_that_of_its_request() -> None:
    with pytest.raises(ZeroDivisionError):
        await LargeRequestQueue().run(ANN, lambda: 1 // 0)


@pytest.mark.parametrize(
    ("size", "media", "network", "expected"),
    [
        (LARGE + 1, "application/json", True, True),
        (LARGE, "application/json", True, False),
        (LARGE_YAML + 1, "application/apply-patch+yaml", True, True),
        (LARGE_YAML, "application/yaml", True, False),
        (LARGE + 1, "application/json", False, False),
    ],
)
def test_a_request_is_large_by_size_media_type_and_transport(
    size: int, media: str, network: bool, expected: bool
) -> None:
    arrival = Arrival("id", "/") if network else None
    request = Request("POST", "/", {}, {"content-type": media}, b"x" * size, None, arrival)
    assert is_large_request(request) is expected


def test_lengths_are_computed_only_as_far_as_needed() -> None:
    assert not is_longer({"a": ["x" * 80]}, 100)
    assert is_longer({"a": ["x" * 100]}, 100)
    endless: list[Any] = []
    endless.append(endless)
    assert is_longer(endless, 100_000)


async def test_large_bodies_and_patches_of_large_objects_are_computed_on_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bodies: list[str] = []
    run = LargeRequestQueue.run

    async def noted(self: LargeRequestQueue, user: User, work: Any) -> Any:
        bodies.append(user.name)
        return await run(self, user, work)

    monkeypatch.setattr(LargeRequestQueue, "run", noted)
    async with running() as asking:
        calls = Calls(asking.server)
        big = {**config_map("big"), "data": {"a": "x" * 3 * LARGE}}
        assert (await calls.call("POST", CONFIG_MAPS, big)).status == 201
        assert bodies
        bodies.clear()
        patch = {"data": {"b": "y"}}
        target = f"{CONFIG_MAPS}/big"
        answer = await calls.call("PATCH", target, patch, content_type=MERGE_PATCH)
        assert (answer.status, answer.body["data"]["b"]) == (200, "y")
        assert bodies
        bodies.clear()
        assert (await calls.call("POST", CONFIG_MAPS, config_map("small"))).status == 201
        assert (await calls.call("GET", target)).status == 200
        assert not bodies
        answer = await calls.call("GET", target, accept="application/yaml")
        assert (answer.status, answer.headers["content-type"]) == (200, "application/yaml")
        assert bodies


async def test_an_object_grows_no_larger_than_one_can_be_stored() -> None:
    async with running() as asking:
        calls = Calls(asking.server)
        much = {"metadata": {"annotations": {"a": "x" * 200_000}}}
        labels = {f"k{at}": "v" * 60 for at in range(MOST_STORED // 60)}
        too_large = {**gizmo("a"), "metadata": {"name": "a", "labels": labels}}
        answer = await calls.call("POST", GIZMOS, too_large)
        assert (answer.status, answer.body["reason"]) == (413, "RequestEntityTooLarge")
        assert (await calls.call("GET", f"{GIZMOS}/a")).status == 404
        # In process, too, and by patches each of which is small.
        await asking.create(GIZMOS, gizmo("b"))
        number, turn = 200, 0
        while number == 200 and turn < 100:
            turn += 1
            data = {"metadata": {"finalizers": [f"a.b/{at}" for at in range(turn * 4000)]}}
            number, _ = await asking.ask("PATCH", f"{GIZMOS}/b", {**much, **data}, MERGE_PATCH)
        assert number == 413
        stored = await asking.get(f"{GIZMOS}/b")
        assert not is_longer(stored, MOST_STORED)
        version = stored["metadata"]["resourceVersion"]
        await asking.merge(f"{GIZMOS}/b", {"spec": {"color": "blue"}})
        assert int((await asking.get(f"{GIZMOS}/b"))["metadata"]["resourceVersion"]) > int(version)
