"""Moves while others write: who ignores the pause, who has to finish first, who comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.move.pausing import BLOCK_MOVE, is_paused
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.names import SECRETS, Resource
from kapy.testing.faults import BAD_DAY, Faults, Rates
from tests.clusterctl.move import fleet
from tests.clusterctl.move.killed_process import Killed, Life
from tests.clusterctl.move.management_clusters import (
    SIMPLE,
    Heard,
    content,
    ended,
    everything,
    load,
    management_cluster,
    move,
    two_clusters,
)

MACHINES = Resource("cluster.x-k8s.io", "v1beta2", "machines", "Machine")
CLUSTERS = Resource("cluster.x-k8s.io", "v1beta2", "clusters", "Cluster")
MACHINE = Key("fleet", "a-0")

STAY = {"cloud", "cloud-credentials", "unrelated"}

Sides = tuple[Client, Client]
Act = Callable[[], Awaitable[Any]]


@pytest_asyncio.fixture
async def sides() -> AsyncIterator[Sides]:
    async with two_clusters() as both:
        await load(both[0], fleet.fleet())
        yield both


class When(Interceptor):
    """Acts before a request for which `holds`; once, or each time."""

    __slots__ = ("_act", "_each", "_holds")

    def __init__(
        self, transport: Transport, holds: Callable[[Request], bool], act: Act, *, each: bool
    ) -> None:
        super().__init__(transport)
        self._holds, self._act, self._each = holds, act, each

    async def __call__(self, request: Request) -> Reply:
        if self._holds(request):
            if not self._each:
                self._holds = lambda _: False
            await self._act()
        return await self.transport(request)


def when(client: Client, method: str, path: str, act: Act, *, each: bool = False) -> Client:
    def holds(request: Request) -> bool:
        return request.method == method and path in request.path

    return Client(When(client.transport, holds, act, each=each), field_manager="kapy")


def written(client: Client, patch: Document, resource: Resource = MACHINES) -> Act:
    key = MACHINE if resource is MACHINES else Key("fleet", "a")
    return lambda: client.patch(resource, key, patch)


def annotated(value: str | None) -> Document:
    return {"metadata": {"annotations": {"told": value}}}


async def machine(client: Client) -> Document:
    return await client.get(MACHINES, MACHINE)


async def test_a_reconcile_that_ends_after_the_pause_is_moved_with_its_result(
    sides: Sides, tmp_path: Path
) -> None:
    source, target = sides
    heard, act = Heard(), written(source, annotated("late"))
    await move(source, when(target, "POST", "/machines", act), tmp_path / "j.jsonl", heard)
    assert (await machine(target))["metadata"]["annotations"] == {"told": "late"}
    changed = heard.about("Object changed while it was moved, copying it again")
    assert changed == [{"Machine": "a-0"}]


async def test_objects_deleted_after_the_pause_are_not_created_again(
    sides: Sides, tmp_path: Path
) -> None:
    source, target = sides
    await source.patch(MACHINES, MACHINE, annotated("early"))

    async def act() -> None:
        await source.patch(MACHINES, MACHINE, annotated(None))
        await source.delete(SECRETS, Key("fleet", "cpi"))

    await move(source, when(target, "POST", "/machines", act), tmp_path / "j.jsonl")
    assert "annotations" not in (await machine(target))["metadata"]
    assert "cpi" not in {ref.name for ref in await everything(target)}


async def test_a_write_after_the_comparison_is_not_lost(sides: Sides, tmp_path: Path) -> None:
    source, target = sides
    act = written(source, annotated("last"))
    await move(when(source, "DELETE", "/secrets", act), target, tmp_path / "j.jsonl")
    assert (await machine(target))["metadata"]["annotations"] == {"told": "last"}


async def test_status_changes_do_not_disturb_a_move(sides: Sides, tmp_path: Path) -> None:
    source, target = sides
    count = iter(range(1000))

    async def act() -> None:
        patch = {"status": {"lastUpdated": str(next(count))}}
        with suppress(NotFound):  # it is gone at last
            await source.patch(MACHINES, MACHINE, patch, subresource="status")

    await move(when(source, "GET", "/machines", act, each=True), target, tmp_path / "j.jsonl")
    assert next(count) > 3
    assert await machine(target)


async def test_a_controller_that_ignores_the_pause_is_reported_and_the_move_undone(
    sides: Sides, tmp_path: Path
) -> None:
    source, target = sides
    before, count = content(await everything(source)), iter(range(1000))

    async def act() -> None:
        await source.patch(MACHINES, MACHINE, annotated(str(next(count))))

    path = tmp_path / "j.jsonl"
    with pytest.raises(MoveError, match="Machine fleet/a-0 goes on changing in the source"):
        await move(when(source, "GET", "/machines", act, each=True), target, path)
    await source.patch(MACHINES, MACHINE, annotated(None))
    await ended(source, target, path, resume=False)
    source_objects = content(await everything(source))
    for document in source_objects.values():
        if document["metadata"].get("annotations") == {}:
            del document["metadata"]["annotations"]
    assert (source_objects, await everything(target)) == (before, {})


async def test_a_controller_that_recreates_objects_is_reported(
    sides: Sides, tmp_path: Path
) -> None:
    source, target = sides
    again = fleet.secret("cpi")
    del again["metadata"]["uid"]

    async def act() -> None:
        await source.create(SECRETS, again)

    path = tmp_path / "j.jsonl"
    with pytest.raises(MoveError, match="Secret fleet/cpi came back in the source"):
        await move(when(source, "DELETE", "/clusterresourcesets/cni", act), target, path)
    with pytest.raises(MoveError, match="made again in the source"):
        await ended(source, target, path, resume=True)
    await source.delete(SECRETS, Key("fleet", "cpi"))
    await ended(source, target, path, resume=True)
    assert not is_paused(await target.get(CLUSTERS, Key("fleet", "a")))


async def test_a_cluster_created_during_a_move_is_paused_and_moved(
    sides: Sides, tmp_path: Path
) -> None:
    source, target = sides
    act: Act = lambda: load(source, fleet.cluster("late"))  # noqa: E731
    await move(source, when(target, "POST", "/machines", act), tmp_path / "j.jsonl")
    assert not is_paused(await target.get(CLUSTERS, Key("fleet", "late")))
    assert {ref.name for ref in await everything(source)}.isdisjoint({"late", "late-0"})


async def test_nothing_is_created_while_the_move_is_blocked(sides: Sides, tmp_path: Path) -> None:
    source, target = sides
    await source.patch(MACHINES, MACHINE, {"metadata": {"annotations": {BLOCK_MOVE: ""}}})
    heard = Heard()
    async with asyncio.TaskGroup() as group:
        moving = group.create_task(move(source, target, tmp_path / "j.jsonl", heard))
        await asyncio.sleep(100)
        assert (await everything(target), moving.done()) == ({}, False)
        assert is_paused(await source.get(CLUSTERS, Key("fleet", "a")))
        unblock: Document = {"metadata": {"annotations": {BLOCK_MOVE: None}}}
        await source.patch(MACHINES, MACHINE, unblock)
    assert await machine(target)


async def test_an_object_that_blocks_the_move_too_long_is_named(
    sides: Sides, tmp_path: Path
) -> None:
    source, target = sides
    path = tmp_path / "j.jsonl"
    await source.patch(MACHINES, MACHINE, {"metadata": {"annotations": {BLOCK_MOVE: ""}}})
    with pytest.raises(MoveError, match="Machine fleet/a-0 still has the annotation"):
        await move(source, target, path)
    await ended(source, target, path, resume=False)
    assert not is_paused(await source.get(CLUSTERS, Key("fleet", "a")))


async def test_a_lossy_target_stops_the_move_before_the_removal(
    tmp_path: Path,
) -> None:
    strict = [document for document in SIMPLE if document["spec"]["names"]["kind"] != "Machine"]
    [machines] = [document for document in SIMPLE if document["spec"]["names"]["kind"] == "Machine"]
    [version] = machines["spec"]["versions"]
    spec = {"type": "object", "properties": {"clusterName": {"type": "string"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    older = {**machines, "spec": {**machines["spec"], "versions": [{**version, "schema": schema}]}}
    async with (
        management_cluster() as source,
        management_cluster(definitions=[*strict, older]) as target,
    ):
        await load(source, fleet.fleet())
        before = content(await everything(source))
        path = tmp_path / "j.jsonl"
        with pytest.raises(MoveError, match=r"Machine fleet/a-0 differs in spec\.bootstrap"):
            await move(source, target, path)
        await ended(source, target, path, resume=False)
        assert (content(await everything(source)), await everything(target)) == (before, {})


@pytest.mark.parametrize("seed", range(4))
async def test_faults_of_both_servers_do_not_change_the_result(
    sides: Sides, tmp_path: Path, seed: int
) -> None:
    source, target = sides
    before = content(await everything(source))
    # Lists that are older than what was read before: no client of one server sees those.
    rates = Rates(**{**_fields(BAD_DAY), "stale_list": 0.0})
    faulty = [Faults(side.transport, rates, seed=seed) for side in sides]
    await move(Client(faulty[0]), Client(faulty[1]), tmp_path / "j.jsonl")
    assert sum(sum(faults.happened.values()) for faults in faulty) > 10
    after = content(await everything(target))
    assert after == {ref: before[ref] for ref in after}
    names = {str(ref) for ref in await everything(source)}
    assert names == {
        "FakeIdentity cloud",
        "Secret fleet/cloud-credentials",
        "Secret fleet/unrelated",
    }


def _fields(rates: Rates) -> dict[str, float]:
    return {name: getattr(rates, name) for name in Rates.__slots__}


def lets_the_target_work(request: Request) -> bool:
    return request.method == "PATCH" and request.body == {"spec": {"paused": None}}


async def test_a_late_rollback_keeps_the_targets_own_objects_and_returns_the_moved_ones(
    tmp_path: Path,
) -> None:
    path = tmp_path / "j.jsonl"
    [top, *rest] = fleet.cluster("a")
    async with two_clusters() as (source, target):
        await load(source, [top, *rest])
        before = content(await everything(source))
        await load(target, [{**top, "status": {}}, fleet.secret("theirs", top)])
        there = content(await everything(target))
        life = Life(acted_on=True, last=lets_the_target_work)
        with pytest.raises(Killed):
            await move(life.client(source), life.client(target), path)
        owner = await target.get(CLUSTERS, Key("fleet", "a"))
        secret = fleet.secret("made-meanwhile", owner)
        await target.create(SECRETS, secret)
        await ended(source, target, path, resume=False)
        assert content(await everything(target)) == there
        now = content(await everything(source))
        [new] = [ref for ref in now if ref not in before]
        assert (new.name, {**now, new: None}) == ("made-meanwhile", {**before, new: None})
