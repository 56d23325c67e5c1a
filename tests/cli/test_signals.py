"""Ctrl-C and SIGTERM, before and after what was begun is ready."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kapy.apps.pidfile import is_claimed
from kapy.apps.settings import Folder
from kapy.cli.signals import StartCancelled, handle_stop_signals
from tests.waiting import LIMIT, until

BOTH = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


@BOTH
def test_a_signal_cancels_a_start(number: signal.Signals) -> None:
    async def begin() -> None:
        with handle_stop_signals() as stop_request:
            async with stop_request.start("it"):
                signal.raise_signal(number)
                await asyncio.sleep(LIMIT)

    before = signal.getsignal(number)
    with pytest.raises(StartCancelled, match="stopped before it was ready"):
        asyncio.run(begin())
    assert signal.getsignal(number) is before


@BOTH
def test_a_signal_stops_a_running_program(number: signal.Signals) -> None:
    async def work() -> str:
        with handle_stop_signals() as stop_request:
            async with stop_request.start("it") as ready:
                ready()
                signal.raise_signal(number)
                await stop_request.wait()
                await asyncio.sleep(0.01)
                return "in order"

    assert asyncio.run(work()) == "in order"


def test_a_signal_before_the_start_is_handled() -> None:
    async def begin() -> None:
        with handle_stop_signals() as stop_request:
            signal.raise_signal(signal.SIGTERM)
            await stop_request.wait()
            async with stop_request.start("it"):
                await asyncio.sleep(LIMIT)

    with pytest.raises(StartCancelled):
        asyncio.run(begin())


def test_two_stop_requests_of_one_start_are_one() -> None:
    """A signal and the end of the parent process can come together."""
    failures = list[object]()

    async def begin() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: failures.append(context))
        with handle_stop_signals() as stop_request:
            async with stop_request.start("it"):
                stop_request.set()
                loop.call_soon(stop_request.set)
                await asyncio.sleep(LIMIT)

    with pytest.raises(StartCancelled):
        asyncio.run(begin())
    assert failures == []


LACKING = """
from kapy.kube.names import Resource
from kapy.sdk.provider import Provider

def add_to(runtime):
    runtime.cache.informer(Resource("example.com", "v1", "clouds", "Cloud"))

PROVIDER = Provider(name="lacking", kinds=(), add_to=add_to, image="registry.example.com/x")
"""


@contextmanager
def waiting_plane(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """`kapy up --detach` of a plane that never becomes ready."""
    (folder / "lacking.py").write_text(LACKING)
    environ = {**os.environ, "HOME": str(folder), "PYTHONPATH": str(folder)}
    command = ("up", "--provider", "lacking", "--detach", "--data-dir", "plane", "--port", "0")
    with subprocess.Popen(
        [sys.executable, "-m", "kapy.cli.main", *command],
        cwd=folder,
        env={**environ, "KUBECONFIG": str(folder / "kubeconfig")},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        waits = "waiting for the objects that controllers read: clouds"
        assert any(waits in line for line in process.stderr), "a plane on a busy machine says more"
        assert is_claimed(Folder(folder / "plane"))
        yield process


@pytest.mark.sockets
def test_sigterm_ends_a_plane_that_starts_in_the_background(tmp_path: Path) -> None:
    with waiting_plane(tmp_path) as process:
        process.terminate()
        assert process.wait(LIMIT) == 1
        assert process.stderr is not None
        assert "stopped before the management plane was ready" in process.stderr.read()
    assert not is_claimed(Folder(tmp_path / "plane"))


@pytest.mark.sockets
@pytest.mark.parametrize("numbers", [(signal.SIGINT, signal.SIGTERM), (signal.SIGKILL,)])
async def test_a_starting_plane_ends_with_its_parent(
    tmp_path: Path, numbers: tuple[signal.Signals, ...]
) -> None:
    with waiting_plane(tmp_path) as process:
        for number in numbers:
            process.send_signal(number)
        process.wait(LIMIT)
    await until(lambda: not is_claimed(Folder(tmp_path / "plane")))
    assert "Traceback" not in (tmp_path / "plane" / "plane.log").read_text()
