"""Large objects, many objects and many open pages: the loop goes on, and memory has a bound."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.manifests import apply_manifests
from kapy.apps.settings import Settings
from kapy.clusterctl.describe import discover
from kapy.clusterctl.describe import source as source_module
from kapy.clusterctl.describe.source import CLUSTERS, MACHINES
from kapy.hooks.inspection import CALLS
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN, User
from kapy.kube.names import Resource
from kapy.testing import on_virtual_time
from kapy.ui import fleet as fleet_module
from kapy.ui import objects as objects_module
from kapy.ui import page as page_module
from kapy.ui.application import MOST_STREAMS_OF_A_USER
from kapy.ui.fleet import Fleet
from kapy.ui.hook_calls import HookCall
from kapy.ui.machines import MOST_DOMAINS, MOST_VERSIONS, grid_of
from kapy.ui.objects import EVENTS, read_cluster
from kapy.ui.rendering import is_large
from kapy.ui.sessions import SESSION_LIFE
from kapy.ui.viewers import MOST_READS
from tests.ui.clusters import cluster
from tests.ui.visitor import Visitor, visiting

GUEST = User("guest", ("system:authenticated",))
RBAC = "rbac.authorization.k8s.io"
BINDINGS = Resource(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
PLAIN: Document = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "Cluster",
    "metadata": {"name": "wild", "namespace": "default"},
    "spec": {"infrastructureRef": {"apiGroup": "a.example", "kind": "Wild", "name": "wild"}},
}


@asynccontextmanager
async def _pages(user: User = ADMIN) -> AsyncIterator[tuple[ManagementPlane, Visitor]]:
    clock = loop_clock()
    async with management_plane(Settings(), clock=clock) as plane:
        await apply_manifests(plane.client, [PLAIN])
        async with visiting(plane.server, clock, user) as visitor:
            yield plane, visitor


def _configmap(name: str, keys: int) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": {f"key-{number}": "value" for number in range(keys)},
    }


@on_virtual_time
async def test_pages_of_large_objects_are_computed_beside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    computed = 0

    async def compute(function: Callable[[], Any]) -> Any:
        nonlocal computed
        computed += 1
        return function()

    monkeypatch.setattr(page_module, "compute", compute)
    async with _pages() as (plane, visitor):
        await apply_manifests(plane.client, [_configmap("small", 2), _configmap("large", 6000)])
        for name, expected in (("small", 0), ("large", 1)):
            page = await visitor.get(f"/objects/core/v1/configmaps/default/{name}")
            assert (page.status, computed) == (200, expected)


def test_the_size_of_documents_is_measured_up_to_a_limit_without_recursion() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert is_large([{"deep": deep}])
    assert is_large([{"text": "x" * 1_000_000}])
    assert is_large([{"list": list(range(6000))}])
    assert not is_large([cluster("one"), None])


def test_the_grid_is_bounded_in_versions_and_failure_domains() -> None:
    machines = [
        {
            "metadata": {"name": f"m{number}", "namespace": "default"},
            "spec": {"version": f"v1.{number}.0", "failureDomain": f"zone-{number}"},
        }
        for number in range(300)
    ]
    grid = grid_of(machines)
    assert len(grid.versions) == MOST_VERSIONS
    assert len(grid.rows) == MOST_DOMAINS
    assert (grid.versions[-1], grid.rows[-1][0]) == ("other versions", "other failure domains")
    names = [cell.name for _, cells in grid.rows for cell_list in cells for cell in cell_list]
    assert sorted(names) == sorted(machine["metadata"]["name"] for machine in machines)


def test_a_grid_of_few_versions_has_each_of_them() -> None:
    machines = [
        {"metadata": {"name": name}, "spec": {"version": version, "failureDomain": zone}}
        for name, version, zone in (("a", "v1.34.0", "x"), ("b", "v1.33.0", "y"))
    ]
    grid = grid_of(machines)
    assert grid.versions == ["v1.33.0", "v1.34.0"]
    names = [[[cell.name for cell in column] for column in cells] for _, cells in grid.rows]
    assert names == [[[], ["a"]], [["b"], []]]


@on_virtual_time
@pytest.mark.parametrize(("most_pages", "is_complete"), [(20, True), (2, False)])
async def test_events_are_read_in_parts_and_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch, most_pages: int, *, is_complete: bool
) -> None:
    monkeypatch.setattr(objects_module, "EVENT_PAGE", 3)
    monkeypatch.setattr(objects_module, "EVENT_PAGES", most_pages)
    async with _pages() as (plane, visitor):
        wild = await plane.client.get(CLUSTERS, Key("default", "wild"))
        reference = {"kind": "Cluster", "name": "wild", "namespace": "default"}
        about = {**reference, "uid": wild["metadata"]["uid"]}
        for number in range(10):
            name = f"event-{number}"
            event = {"metadata": {"name": name, "namespace": "default"}, "involvedObject": about}
            await plane.client.create(EVENTS, {**event, "reason": "Told", "message": f"<{name}>"})
        page = await visitor.get("/clusters/default/wild")
    shown = [number for number in range(10) if f"&lt;event-{number}&gt;" in page.text]
    assert shown == list(range(10 if is_complete else 6))
    assert ("more events than this page reads" in page.text) is not is_complete


@on_virtual_time
async def test_rows_are_computed_in_slices_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(10_000))
    monkeypatch.setattr(fleet_module, "perf_counter", lambda: next(seconds) / 100)
    fleet = Fleet(None, [], Random())  # type: ignore[arg-type]
    for number in range(30):
        fleet.put(Key("default", f"c{number}"), cluster(f"c{number}"))
    turns = 0

    async def other_work() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(other_work())
        rows = await fleet.rows()
        task.cancel()
    assert len(rows) == 30
    assert turns >= 10


@on_virtual_time
async def test_a_cluster_of_many_machines_is_read_in_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with _pages() as (plane, visitor):
        for number in range(40):
            await plane.client.create(MACHINES, _machine(f"m{number}"))
        viewer, turns, seconds = visitor.pages._viewers.of(ADMIN), 0, itertools.count()
        monkeypatch.setattr(source_module, "perf_counter", lambda: next(seconds) / 10)

        async def other_work() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as group:
            task = group.create_task(other_work())
            objects = await read_cluster(viewer, Key("default", "wild"), show_all=True)
            task.cancel()
    assert len(objects.machines) == 40
    assert turns >= 40


def _machine(name: str) -> Document:
    labels = {"cluster.x-k8s.io/cluster-name": "wild"}
    return {
        "apiVersion": MACHINES.api_version,
        "kind": MACHINES.kind,
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {
            "clusterName": "wild",
            "bootstrap": {"dataSecretName": "x"},
            "infrastructureRef": {
                "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachine", "name": name,
            },
        },
    }  # fmt: skip


@on_virtual_time
async def test_a_user_has_a_bound_of_open_pages() -> None:
    async with _pages() as (_, visitor), AsyncExitStack() as stack:
        for number in range(MOST_STREAMS_OF_A_USER):
            if number % 10 == 0:
                await visitor.log_in()
            await stack.enter_async_context(visitor.listen("/live-fleet"))
        await asyncio.sleep(1)
        refused = await visitor.get("/live-fleet")
        page = await visitor.get("/")
        await visitor.log_in(GUEST)
        other = await stack.enter_async_context(visitor.listen("/live-fleet"))
        assert "retry" in await other.get()
    assert (refused.status, page.status) == (429, 200)


@on_virtual_time
async def test_few_clusters_of_a_user_are_read_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    read, most = 0, 0

    async def slow(*arguments: Any) -> Any:
        nonlocal read, most
        read += 1
        most = max(most, read)
        await asyncio.sleep(1)
        read -= 1
        return await discover(*arguments)

    monkeypatch.setattr(objects_module, "discover", slow)
    async with _pages() as (_, visitor), asyncio.TaskGroup() as group:
        reads = [visitor.get("/clusters/default/wild") for _ in range(3 * MOST_READS)]
        tasks = [group.create_task(read) for read in reads]
        await asyncio.sleep(0.5)
        fleet = await visitor.get("/")
        assert not any(task.done() for task in tasks)
    assert {task.result().status for task in tasks} == {fleet.status} == {200}
    assert most == MOST_READS


@on_virtual_time
async def test_streams_end_with_their_session() -> None:
    async with _pages() as (_, visitor), asyncio.TaskGroup() as group:
        for act in (visitor.log_out, _expire):
            await visitor.log_in()
            stream = group.create_task(visitor.hold("/live-fleet"))
            await asyncio.sleep(60)
            assert not stream.done()
            await act()
            async with asyncio.timeout(5):
                await stream


async def _expire() -> None:
    await asyncio.sleep(SESSION_LIFE.total_seconds())


@on_virtual_time
async def test_a_page_connects_again_when_its_viewer_may_see_other_namespaces() -> None:
    async with _pages(GUEST) as (plane, visitor), asyncio.TaskGroup() as group:
        stream = group.create_task(visitor.hold("/live-fleet"))
        await asyncio.sleep(15)
        assert not stream.done()
        await _allow_everything(plane)
        assert ">wild<" in (await visitor.get("/")).text
        async with asyncio.timeout(5):
            await stream


@on_virtual_time
async def test_answers_of_hooks_are_hidden_when_the_right_to_read_them_is_withdrawn() -> None:
    async with _pages(GUEST) as (plane, visitor):
        await _allow_everything(plane)
        await visitor.get("/clusters/default/wild")
        call = HookCall(
            datetime(2026, 1, 1, tzinfo=UTC), "BeforeClusterCreate", "h", 0.1, "Success",
            "confidential", None,
        )  # fmt: skip
        viewer = visitor.pages._viewers.of(GUEST)
        viewer.calls._last[Key("default", "wild"), call.hook, call.handler] = call
        before = await visitor.get("/clusters/default/wild")
        role = {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "no-calls"},
            "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
        }
        await apply_manifests(plane.client, [role, _binding("no-calls")])
        await plane.client.delete(BINDINGS, Key("", "cluster-admin-guest"))
        await asyncio.sleep(11)
        after = await visitor.get("/clusters/default/wild")
    assert CALLS == "/hooks/calls"
    assert "confidential" in before.text
    assert (after.status, "confidential" in after.text) == (200, False)


def _binding(role: str) -> Document:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"{role}-guest"},
        "subjects": [{"kind": "User", "name": GUEST.name, "apiGroup": RBAC}],
        "roleRef": {"kind": "ClusterRole", "name": role, "apiGroup": RBAC},
    }


async def _allow_everything(plane: ManagementPlane) -> None:
    await apply_manifests(plane.client, [_binding("cluster-admin")])
    await asyncio.sleep(11)
