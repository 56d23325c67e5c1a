"""The pages that probes ask for."""

from __future__ import annotations

import asyncio

import pytest

from kapy._aio.clock import loop_clock
from kapy.apiserver.server import Server
from kapy.apiserver.store.errors import StoreError
from kapy.apiserver.store.store import Store
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import Settings
from tests.apiserver.network_client import Answer, Calls


def failing(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """A server that cannot write."""
    monkeypatch.setattr(Store, "failure", property(lambda _: "database or disk is full"))
    return Calls(Server.open(None, clock=loop_clock()))


def lines(answer: Answer) -> list[str]:
    return answer.content.decode().splitlines()


async def test_a_healthy_server_says_ok() -> None:
    calls = Calls(Server.open(None, clock=loop_clock()))
    for target in ("/livez", "/readyz", "/healthz", "/readyz/etcd", "/readyz/shutdown"):
        answer = await calls.call("GET", target, token="")
        if target.count("/") == 1:  # everybody may ask these
            assert (answer.status, answer.content) == (200, b"ok")
        else:
            assert answer.status == 403
            assert (await calls.call("GET", target)).content == b"ok"
    assert lines(await calls.call("GET", "/readyz?verbose")) == [
        *("[+]ping ok", "[+]log ok", "[+]etcd ok", "[+]shutdown ok", "readyz check passed"),
    ]
    assert "[+]shutdown ok" not in lines(await calls.call("GET", "/livez?verbose"))
    assert (await calls.call("GET", "/readyz/nothing")).status == 404


async def test_a_server_that_cannot_write_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = failing(monkeypatch)
    answer = await calls.call("GET", "/readyz", token="")
    assert answer.status == 500
    assert lines(answer) == [
        "[+]ping ok",
        "[+]log ok",
        "[-]etcd failed: reason withheld",
        "[+]shutdown ok",
        "readyz check failed",
    ]
    result = await calls.call("GET", "/readyz/etcd")
    assert (result.status, "disk is full" in result.content.decode()) == (500, True)


@pytest.mark.parametrize(
    ("query", "status", "line"),
    [
        ("exclude=etcd", 200, "[+]etcd excluded: ok"),
        ("exclude=ping&exclude=etcd", 200, "[+]ping excluded: ok"),
        ("exclude=ping", 500, "[-]etcd failed: reason withheld"),
        (
            "exclude=etcd&exclude=x",
            200,
            'warn: some health checks cannot be excluded: no matches for "x"',
        ),
    ],
)
async def test_checks_can_be_excluded(
    query: str, status: int, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = await failing(monkeypatch).call("GET", f"/readyz?verbose&{query}")
    assert answer.status == status
    assert line in lines(answer)


async def test_a_store_that_takes_no_write_makes_the_server_unready(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pathlib import Path

    from kapy.apiserver.store.sqlite import SqliteLog

    assert isinstance(tmp_path, Path)
    server = Server.open(tmp_path, clock=loop_clock())
    calls = Calls(server)
    write = SqliteLog.write

    def full(self: SqliteLog, rows: object, revision: int) -> None:
        raise StoreError("database or disk is full")

    async with asyncio.TaskGroup() as group:
        running = group.create_task(server.run())
        await asyncio.sleep(1)
        assert (await calls.call("GET", "/readyz")).status == 200
        monkeypatch.setattr(SqliteLog, "write", full)
        path = "/api/v1/namespaces"
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
        assert (await calls.call("POST", path, namespace)).status >= 500
        assert (await calls.call("GET", "/readyz")).status == 500
        assert (await calls.call("GET", path)).status == 200
        monkeypatch.setattr(SqliteLog, "write", write)
        await asyncio.sleep(5)
        assert (await calls.call("GET", "/readyz")).status == 200
        assert (await calls.call("POST", path, namespace)).status == 201
        running.cancel()
    server.close()


async def test_a_plane_is_ready_when_its_controllers_work_and_not_when_it_ends() -> None:
    async with management_plane(Settings(), clock=loop_clock()) as plane:
        calls = Calls(plane.server)
        results = lines(await calls.call("GET", "/readyz?verbose"))
        assert "[+]informer-sync ok" in results
        assert "[+]poststarthook/start-controllers ok" in results
        plane.runtime.working.clear()
        assert (await calls.call("GET", "/readyz")).status == 500
        assert (await calls.call("GET", "/livez")).status == 200
    answer = await calls.call("GET", "/readyz")
    assert "[-]shutdown failed: reason withheld" in lines(answer)


async def test_a_server_that_stops_refuses_requests_but_not_probes() -> None:
    server = Server.open(None, clock=loop_clock())
    calls = Calls(server)
    server.health.begin_shutdown()
    answer = await calls.call("GET", "/api/v1/namespaces")
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert answer.body["reason"] == "ServiceUnavailable"
    assert (await calls.call("GET", "/livez")).content == b"ok"
    assert (await calls.call("GET", "/readyz")).status == 500
