"""Processes that outlive a plane which was killed: found again, and not started twice."""

from __future__ import annotations

import asyncio
import errno
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kapy._aio.clock import system_clock
from kapy.kube import Document
from kapy.node_agent.leftovers import end_leftovers
from kapy.node_agent.processes import programs, records
from kapy.node_agent.processes.programs import Program, Programs
from kapy.node_agent.processes.records import Record
from kapy.node_agent.processes.runtime import ProcessRuntime
from kapy.node_agent.runtime import ContainerConfig, StartFailed

pytestmark = pytest.mark.sockets

SLEEP = "import sys, time; '--help' in sys.argv or time.sleep(3600)"
POD: Document = {
    "metadata": {"name": "pod", "namespace": "ns", "uid": "u-1"},
    "spec": {"containers": [{"name": "c"}], "terminationGracePeriodSeconds": 1},
}


def config(folder: Path, *arguments: str) -> ContainerConfig:
    place = folder / "pods" / "u-1" / "c"
    place.mkdir(parents=True, exist_ok=True)
    return ContainerConfig(
        POD, POD["spec"]["containers"][0], [], arguments, {}, [], place, None, place / "0.log"
    )


def processes(folder: Path, *command: str) -> ProcessRuntime:
    """The runtime of a program that was started now."""
    if command:
        programs.add(folder, [Program("ns", "pod", "c", command)])
    local_programs = Programs(folder)
    local_programs.refresh()
    return ProcessRuntime(local_programs, lambda _: "pod", system_clock)


@asynccontextmanager
async def started(folder: Path) -> AsyncIterator[Record]:
    """A process that an earlier program has started; it ends with the context."""
    runtime = processes(folder, sys.executable, "-c", SLEEP)
    first = await runtime.start(config(folder))
    record = records.read(config(folder).folder)
    assert record is not None
    try:
        yield record
    finally:
        await first.stop(0)


async def test_a_process_is_found_again(tmp_path: Path) -> None:
    async with started(tmp_path) as record:
        running = await processes(tmp_path).find(config(tmp_path))
        assert running is not None
        assert running.identity == f"process://{record.pid}"
        await running.stop(5)
        assert not record.is_alive
        assert (await running.ended()).code == 137, "nobody has seen how it ended"


async def test_a_process_with_changed_arguments_is_stopped(tmp_path: Path) -> None:
    async with started(tmp_path) as record:
        assert await processes(tmp_path).find(config(tmp_path, "--more")) is None
        assert not record.is_alive


async def test_a_reused_process_id_is_not_adopted(tmp_path: Path) -> None:
    async with started(tmp_path) as record:
        records.write(config(tmp_path).folder, replace(record, began="1"))
        assert await processes(tmp_path).find(config(tmp_path)) is None
        assert record.is_alive


async def test_an_unrecorded_process_is_stopped_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    children: list[asyncio.subprocess.Process] = []
    create = asyncio.create_subprocess_exec

    async def created(*command: str, **options: Any) -> asyncio.subprocess.Process:
        children.append(await create(*command, **options))
        return children[-1]

    def fail(folder: Path, record: Record) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", created)
    monkeypatch.setattr(records, "write", fail)
    runtime = processes(tmp_path, sys.executable, "-c", SLEEP)
    with pytest.raises(OSError, match="No space left"):
        await runtime.start(config(tmp_path))
    assert children
    assert all(child.returncode is not None for child in children)


async def test_processes_of_deleted_pods_are_stopped(tmp_path: Path) -> None:
    async with started(tmp_path) as record:
        end_leftovers(tmp_path, {"u-1"})
        assert record.is_alive
        end_leftovers(tmp_path, {"u-2"})
        assert not (tmp_path / "pods" / "u-1").exists()


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    runtime = processes(tmp_path, str(tmp_path / "manager"))
    with pytest.raises(StartFailed, match=r"manager is not there, or may not be executed; build"):
        await runtime.start(config(tmp_path))
