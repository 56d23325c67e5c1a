"""A reconcile is not woken by what it wrote itself, and is by everything else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.conditions import set_condition, true
from kapy.engine.controller import Controller
from kapy.engine.draft import Draft
from kapy.engine.own_writes import OwnWrites
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.engine.store import Change
from kapy.kube import Document, Key
from kapy.kube.http import Reply, Request
from kapy.kube.names import Resource
from kapy.sdk.contract_objects import ContractObject, contract_object_of
from kapy.testing.provider_bench import key, provider_bench

WIDGETS = Resource("example.dev", "v1", "widgets", "Widget")
WIDGET = {
    "apiVersion": "example.dev/v1",
    "kind": "Widget",
    "metadata": {"name": "one", "namespace": "default"},
}
Doing = Callable[[Client], Awaitable[Any]]


class SlowAnswers(Interceptor):
    """Watches tell of a write long before its answer comes."""

    __slots__ = ()

    async def __call__(self, request: Request) -> Reply:
        reply = await self.transport(request)
        if request.method != "GET":
            await asyncio.sleep(1)
        return reply


class Restless:
    """Finds something else to say each time. first, then: what others do before and after its
    first write, while it works."""

    def __init__(self, runtime: Runtime, others: Client, first: Doing, then: Doing) -> None:
        self.looks = 0
        self._runtime, self._others = runtime, others
        self._first, self._then = first, then
        self._objects = runtime.cache.informer(WIDGETS)

    async def __call__(self, of: Key) -> Result:
        document = self._objects.raw(of)
        assert document is not None
        self.looks += 1
        draft = Draft(self._runtime.client, contract_object_of(WIDGETS, ContractObject), document)
        draft.object.metadata.annotations["looked"] = str(self.looks)
        set_condition(draft.object, true("Tried", f"Request{self.looks}"), self._runtime.clock())
        if self.looks == 1:
            await self._first(self._others)
        await draft.save()
        if self.looks == 1:
            await self._then(self._others)
        return DONE


async def nothing(others: Client) -> None:
    """Nobody does anything."""


async def says(others: Client) -> None:
    """A condition of somebody else's."""
    live = await others.get(WIDGETS, key("one"))
    draft = Draft(others, contract_object_of(WIDGETS, ContractObject), live)
    set_condition(draft.object, true("Seen", "Seen"), loop_clock()())
    await draft.save()


async def labels(others: Client) -> None:
    """A label of somebody else's."""
    await others.patch(WIDGETS, key("one"), {"metadata": {"labels": {"a": "b"}}})


@pytest.mark.parametrize("slow", [False, True], ids=["answer first", "watch first"])
@pytest.mark.parametrize(
    ("first", "then", "looks"),
    [
        pytest.param(nothing, nothing, 1, id="alone"),
        pytest.param(says, nothing, 2, id="a status before its write"),
        pytest.param(nothing, says, 2, id="a status after its write"),
        pytest.param(labels, nothing, 2, id="a label before its write"),
        pytest.param(nothing, labels, 2, id="a label after its write"),
    ],
)
async def test_a_controller_is_not_requeued_by_its_own_writes(
    first: Doing, then: Doing, looks: int, slow: bool
) -> None:
    async with provider_bench([WIDGETS]) as bench:
        transport = SlowAnswers(bench.transport) if slow else bench.transport
        runtime = bench.runtime = Runtime.on(transport, clock=bench.clock, field_manager="mine")
        work = Restless(runtime, Client(bench.transport), first, then)
        controller = Controller("widgets", work, requeue_on_own_writes=False)
        controller.watch(runtime.cache.informer(WIDGETS))
        runtime.add(controller)
        async with bench.running():
            await bench.client.create(WIDGETS, WIDGET)
            await asyncio.sleep(60)
            assert work.looks == looks
            later = {"status": {"phase": "Later"}}
            await bench.client.patch(WIDGETS, key("one"), later, subresource="status")
            await asyncio.sleep(60)
            assert work.looks == looks + 1


def state(version: int, **status: Any) -> Document:
    metadata = {"name": "one", "uid": "u", "resourceVersion": str(version)}
    return {"metadata": metadata, "status": status}


@pytest.mark.parametrize(
    ("answer", "change", "ours"),
    [
        pytest.param(state(2, a=1), (1, 2), True, id="what it wrote"),
        pytest.param(state(2, a=1, b=1), (1, 2), False, id="with a part of somebody else's"),
        pytest.param(state(2, a=1), (1, 3), False, id="and what came after"),
        pytest.param(state(2, a=1), (0, 2), False, id="and what came before"),
    ],
)
def test_a_change_is_an_own_write_if_nobody_else_took_part(
    answer: Document, change: tuple[int, int], *, ours: bool
) -> None:
    own = OwnWrites()
    own.add(state(1), {"status": {"a": 1}}, answer)
    old, new = map(state, change)
    assert own.explains(Change(old, new)) is ours
    assert not own.explains(Change(None, new))
    assert not own.explains(Change(old, None))
