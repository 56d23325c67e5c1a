"""The clock that all other async tests rely on."""

import asyncio
import time

import pytest

from kapy.testing.virtual_time import Deadlock


async def test_ten_hours_pass_at_once() -> None:
    started, loop = time.monotonic(), asyncio.get_running_loop()
    await asyncio.sleep(36_000)
    assert loop.time() == 36_000
    assert time.monotonic() - started < 1


async def test_sleepers_wake_in_order() -> None:
    woken: list[int] = []

    async def sleeper(seconds: int) -> None:
        await asyncio.sleep(seconds)
        woken.append(seconds)

    async with asyncio.TaskGroup() as group:
        for seconds in (300, 5, 60):
            group.create_task(sleeper(seconds))
    assert woken == [5, 60, 300]


async def test_timeouts_use_the_virtual_clock() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(30):
            await asyncio.sleep(31)


async def test_real_io_still_works() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"hello\n")
        assert await reader.readline() == b"hello\n"
        writer.close()
        await writer.wait_closed()


def test_a_deadlock_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from kapy.testing import virtual_time

    monkeypatch.setattr(virtual_time, "PATIENCE", 0.01)

    async def wait_forever() -> None:
        await asyncio.Event().wait()

    with (
        pytest.raises(Deadlock),
        asyncio.Runner(loop_factory=virtual_time.VirtualTimeLoop) as runner,
    ):
        runner.run(wait_forever())


async def test_virtual_time_waits_for_threads() -> None:
    loop = asyncio.get_running_loop()
    sleeper = asyncio.timeout(1)
    async with sleeper:
        assert await loop.run_in_executor(None, lambda: 2 + 2) == 4
    assert loop.time() == 0


async def test_timers_are_due_after_years_too() -> None:
    loop = asyncio.get_running_loop()
    for _ in range(3):
        await asyncio.sleep(200 * 86400)
    assert loop.time() == pytest.approx(600 * 86400)
