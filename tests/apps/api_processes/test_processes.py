"""Real processes that serve an API server: killed, stopped, too slow; what they log and count."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from kapy._aio.clock import system_clock
from kapy.apiserver.store.replica import SharedRevision
from kapy.apps.api_processes import pool
from kapy.apps.api_processes.process import ApiProcess
from kapy.apps.settings import AuditLog
from kapy.kube.errors import Unreachable
from tests.apiserver.requester import CONFIG_MAPS, config_map
from tests.apps.api_processes.serving import served
from tests.apps.workers.test_processes import has_ended, needs_proc, plane, wait_for_end
from tests.waiting import until

pytestmark = pytest.mark.sockets


async def test_writes_and_reads_over_connections_to_any_process(tmp_path: Path) -> None:
    async with served(tmp_path) as at:
        for number in range(12):
            status, created = await at.call("POST", CONFIG_MAPS, config_map(f"c-{number}"))
            assert status == 201
            status, read = await at.call("GET", f"{CONFIG_MAPS}/c-{number}")
            assert (status, read) == (200, created)
        assert (await at.call("GET", CONFIG_MAPS, token=""))[0] == 403
        assert (await at.call("POST", CONFIG_MAPS, config_map("x"), token="ann"))[0] == 403
        assert (await at.call("GET", CONFIG_MAPS, token="wrong"))[0] == 401


@needs_proc
async def test_a_killed_process_is_started_again_and_the_others_serve_meanwhile(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as at:
        first, second = at.pids
        os.kill(first, signal.SIGKILL)
        await until(lambda: at.processes.records[0].restarts == 1)
        assert (await at.call("POST", CONFIG_MAPS, config_map("a")))[0] == 201
        assert (await at.call("GET", f"{CONFIG_MAPS}/a"))[0] == 200
        await until(lambda: at.processes.records[0].state == "running")
        assert at.processes.records[1].pid == second
        os.kill(second, signal.SIGKILL)  # the new one has what was written meanwhile
        await until(lambda: at.processes.records[1].pid != second)
        assert (await at.call("GET", f"{CONFIG_MAPS}/a"))[0] == 200
        pids = [pid for pid in at.pids if pid]
    assert all(has_ended(pid) for pid in pids)


async def test_a_process_that_does_not_keep_up_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "BACKLOG", 1 << 20)
    async with served(tmp_path) as at:
        os.kill(at.pids[0], signal.SIGSTOP)
        table = at.server.store.table("configmaps")
        content = {"data": {"x": "y" * 200_000}}
        for _ in range(100):
            document = {**config_map("large", namespace="default"), **content}
            at.server.store.put(table, "default", "large", document)
            await at.server.store.wait_for_commit()
        await until(lambda: at.processes.records[0].restarts == 1)
        assert at.processes.records[1].restarts == 0
        await until(lambda: at.processes.records[0].state == "running")


async def test_many_responses_at_once_do_not_make_a_process_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "BACKLOG", 8 << 20)
    monkeypatch.setattr(pool, "RESPONSES", 1 << 20)
    async with served(tmp_path, 1) as at, at.session() as session:
        large = {**config_map("large"), "data": {"x": "y" * 900_000}}
        assert (await at.call("POST", CONFIG_MAPS, large))[0] == 201
        headers = {"Impersonate-User": "other", "Impersonate-Group": "system:masters"}

        async def read() -> int:  # impersonation is the plane's
            url = f"{at.url}{CONFIG_MAPS}/large"
            async with session.get(url, headers=headers) as reply:
                return len(await reply.read())

        sizes = await asyncio.gather(*(read() for _ in range(60)))
        assert min(sizes) > 900_000
        assert at.processes.records[0].restarts == 0


async def test_a_shutdown_ends_watches_and_processes(tmp_path: Path) -> None:
    async with served(tmp_path) as at, at.session() as session:
        pids = at.pids
        watches = [await session.get(f"{at.url}{CONFIG_MAPS}?watch=1") for _ in range(4)]
        at.server.health.begin_shutdown()
        await asyncio.sleep(0.1)  # the notice of it is on its way
        for _ in range(8):  # of both processes
            assert (await at.call("GET", CONFIG_MAPS))[0] == 503
        ending = asyncio.gather(*(watch.content.read() for watch in watches))
        await at.processes.stop()
        assert await ending == [b""] * 4
    assert all(has_ended(pid) for pid in pids)


async def test_the_audit_log_has_the_requests_of_all_processes(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    async with served(tmp_path, audit=AuditLog(path=str(log))) as at:
        await at.call("POST", CONFIG_MAPS, config_map("a"))
        await at.call("GET", f"{CONFIG_MAPS}/a")
        await at.call("GET", CONFIG_MAPS, token="ann")
        await at.call("GET", CONFIG_MAPS, token="wrong")

        def written() -> list[tuple[Any, ...]]:
            events = [json.loads(line) for line in log.read_text().splitlines()]
            return sorted(
                (event["verb"], event["user"].get("username", ""), event["responseStatus"]["code"])
                for event in events
                if event["stage"] == "ResponseComplete" and event["sourceIPs"]
            )

        await until(lambda: len(written()) >= 3)
        assert written() == [("create", "root", 201), ("get", "root", 200), ("list", "ann", 403)]


async def test_metrics_have_the_name_of_the_process(tmp_path: Path) -> None:
    async with served(tmp_path, 1) as at:
        await at.call("GET", CONFIG_MAPS)
        async with at.session() as session, session.get(f"{at.url}/metrics") as reply:
            lines = (await reply.text()).splitlines()
        listed = [
            line
            for line in lines
            if line.startswith("apiserver_request_total{")
            and 'verb="LIST"' in line
            and "configmaps" in line
        ]
        assert len(listed) == 1
        assert 'process="api-1"' in listed[0]
        assert not any("apiserver_storage_objects" in line and "api-1" in line for line in lines)


async def test_a_part_of_the_content_is_not_served() -> None:
    process = ApiProcess(SharedRevision.create())
    async with asyncio.TaskGroup() as group:
        loading = group.create_task(refused_load(process))
        await asyncio.sleep(0)
        process._lose()
    assert loading.result() == "the plane has ended the connection before its content was here"


async def refused_load(process: ApiProcess) -> str:
    config: Any = None
    with pytest.raises(Unreachable) as refused:
        await process.load(config, system_clock)
    return str(refused.value)


async def test_connections_wait_while_the_only_process_starts_again(tmp_path: Path) -> None:
    async with served(tmp_path, 1) as at:
        os.kill(at.pids[0], signal.SIGKILL)
        await until(lambda: at.processes.records[0].restarts == 1)
        assert (await at.call("GET", CONFIG_MAPS))[0] == 200


@needs_proc
def test_a_plane_lists_its_api_processes_and_they_end_with_it(tmp_path: Path) -> None:
    with plane(tmp_path, "--api-processes=2", "--processes=1") as running:

        def pids() -> list[int]:
            report = json.loads(running.kapy("status", "-o", "json") or "{}")
            return [item["pid"] for item in report["workers"] if item["state"] == "running"]

        running.until(lambda: len(pids()) == 2)
        processes = pids()
        assert "api-2" in running.kapy("status")
        commands = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in processes]
        assert all(b"kapy.cli.api_process" in command for command in commands)
        running.process.send_signal(signal.SIGKILL)
        running.process.wait()
        for pid in processes:
            wait_for_end(pid)
