"""A child process ends with this process, in order or not."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Final

import pytest

import kapy
from kapy._aio.child_process import ChildProcess
from tests.locks import HOLD, is_held
from tests.waiting import until

pytestmark = pytest.mark.sockets
"""On real time: processes do not know of another one."""

PROGRAM: Final = f"""
import pathlib, signal, subprocess, sys, time
folder = pathlib.Path(sys.argv[1])
def hear(*_):
    (folder / "heard").touch()
    if "deaf" not in sys.argv:
        sys.exit(7)
signal.signal(signal.SIGTERM, hear)
signal.signal(signal.SIGINT, lambda *_: (folder / "interrupted").touch())
signal.signal(signal.SIGCONT, lambda *_: (folder / "continued").touch())
if "parent" in sys.argv:
    child = subprocess.Popen([sys.executable, "-c", sys.argv[2], sys.argv[1]])
{HOLD}
import os
(folder / "new").write_text(str(os.getpid()))
(folder / "new").rename(folder / "runs")
while True:
    time.sleep(1)
"""
GRANDCHILD: Final = f"""
import pathlib, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
folder = pathlib.Path(sys.argv[1]) / "grandchild"
{HOLD}
(folder / "runs").touch()
time.sleep(1000)
"""
PARENT: Final = """
import asyncio, sys
from kapy._aio.child_process import ChildProcess
async def main():
    await (await ChildProcess.start(sys.argv[1:])).wait()
asyncio.run(main())
"""


def command(folder: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM, str(folder), GRANDCHILD, *arguments]


async def test_a_process_may_end_itself_before_it_is_killed(tmp_path: Path) -> None:
    child = await ChildProcess.start(command(tmp_path))
    await until((tmp_path / "runs").exists)
    await child.stop()
    assert (tmp_path / "heard").exists()
    assert child.returncode == 7
    assert not is_held(tmp_path)
    await child.stop()


async def test_a_process_that_ignores_signals_is_killed_with_its_children(tmp_path: Path) -> None:
    (tmp_path / "grandchild").mkdir()
    child = await ChildProcess.start(command(tmp_path, "parent", "deaf"), patience=0.1)
    await until((tmp_path / "runs").exists)
    await until((tmp_path / "grandchild" / "runs").exists)
    await child.stop()
    assert child.returncode == -signal.SIGKILL
    assert (tmp_path / "heard").exists()
    await until(lambda: not is_held(tmp_path / "grandchild"))


async def test_a_process_that_is_suspended_for_a_while_is_not_ended(tmp_path: Path) -> None:
    child = await ChildProcess.start(command(tmp_path))
    await until((tmp_path / "runs").exists)
    process = int((tmp_path / "runs").read_text())
    for _ in range(3):
        os.kill(process, signal.SIGSTOP)
        await asyncio.sleep(0.05)  # the guard hears of it
        os.kill(process, signal.SIGCONT)
        await until((tmp_path / "continued").exists)
        (tmp_path / "continued").unlink()
    assert not (tmp_path / "heard").exists()
    assert child.returncode is None
    await child.stop()
    assert child.returncode == 7


@pytest.mark.parametrize("numbers", [(signal.SIGKILL,), (signal.SIGINT, signal.SIGTERM)])
async def test_a_process_ends_with_a_parent_that_runs_no_finally(
    tmp_path: Path, numbers: tuple[signal.Signals, ...]
) -> None:
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PARENT, *command(tmp_path)), stderr=asyncio.subprocess.DEVNULL
    )
    await until((tmp_path / "runs").exists)
    for number in numbers:
        parent.send_signal(number)
    await parent.wait()
    await until(lambda: not is_held(tmp_path))
    assert (tmp_path / "heard").exists()


@pytest.mark.parametrize(("script", "code"), [("raise SystemExit(3)", 3), ("ABORT", -6)])
async def test_the_exit_of_a_process_is_reported(script: str, code: int) -> None:
    script = script.replace("ABORT", "import os; os.abort()")
    child = await ChildProcess.start([sys.executable, "-c", script])
    assert await child.wait() == code == child.returncode


async def test_a_stop_right_after_the_start_takes_effect(tmp_path: Path) -> None:
    for _ in range(5):
        child = await ChildProcess.start(["sleep", "1000"], patience=60)
        await child.stop()
        assert child.returncode == -signal.SIGTERM


async def test_starting_a_missing_or_unreadable_program_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await ChildProcess.start(["no-such-program"])
    unreadable = tmp_path / "program"
    unreadable.write_text("#!/no/such/interpreter\n")
    unreadable.chmod(0o755)
    child = await ChildProcess.start(
        [str(unreadable)], stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    assert await child.wait() == 125


STARTERS: Final = {
    "_aio/child_process.py": "the one that others use",
    "cli/background.py": "a plane, which is to outlive this process; a channel tells it of the end",
    "node_agent/processes/binding.py": "a trial that ends by itself",
    "node_agent/processes/runtime.py": "programs of Pods, which the next plane finds again",
}
"""The modules that start processes, and why those do not stay behind."""


def test_no_other_module_starts_processes() -> None:
    """Programs that are waited for (`subprocess.run`) have a time limit, and are not meant."""
    root = Path(kapy.__file__).parent
    starting = ("create_subprocess_exec(", "create_subprocess_shell(", "Popen(", "posix_spawn")
    modules = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if any(text in path.read_text() for text in starting)
    }
    assert modules == STARTERS.keys()
