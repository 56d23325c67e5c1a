"""An extension is served anew when its source changes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kapy._aio.services import run_services
from kapy.apps.extension_server.reloading import (
    file_stamps,
    run_with_reload,
    source_folder,
    syntax_error,
)
from tests.locks import HOLD, is_held
from tests.waiting import until

PROGRAM = """
import pathlib, sys, time
import part
pathlib.Path("log").open("a").write(f"{part.NAME} ")
if part.NAME == "dies":
    sys.exit(3)
time.sleep(1000)
"""


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[tuple[list[str], Callable[[], list[str]]]]:
    """Run the program with reload.

    Yields the messages, and a function that returns the names of the parts that were run.
    """
    (folder / "program.py").write_text(PROGRAM)
    messages: list[str] = []
    command = ("sh", "-c", f'cd "{folder}" && exec "{sys.executable}" -B program.py')

    def log() -> list[str]:
        path = folder / "log"
        return path.read_text().split() if path.exists() else []

    async def serve() -> None:
        await run_with_reload(command, folder, messages.append)

    async with run_services(serve=serve):
        yield messages, log


@pytest.mark.sockets
async def test_changed_sources_are_served_unless_they_have_an_error(tmp_path: Path) -> None:
    part = tmp_path / "part.py"
    part.write_text('NAME = "first"')
    async with served(tmp_path) as (messages, log):
        await until(lambda: log() == ["first"])
        part.write_text('NAME = "broken')
        await until(lambda: any("goes on" in text for text in messages))
        assert log() == ["first"]
        part.write_text('NAME = "second"')
        await until(lambda: log() == ["first", "second"])
        assert messages[-1] == "part.py changed; serving it anew"


@pytest.mark.sockets
async def test_a_program_that_exits_is_started_again_after_a_change(tmp_path: Path) -> None:
    part = tmp_path / "part.py"
    part.write_text('NAME = "dies"')
    async with served(tmp_path) as (messages, log):
        await until(lambda: "it does not run; it is tried again when a file changes" in messages)
        part.write_text('NAME = "lives"')
        await until(lambda: log() == ["dies", "lives"])
        await asyncio.sleep(0)


LOCKED = f"""
from pathlib import Path
from kapy.hooks import Extension
extension = Extension()
folder = Path.cwd()
{HOLD}
(folder / "runs").touch()
"""


@pytest.mark.sockets
@pytest.mark.parametrize("numbers", [(signal.SIGINT, signal.SIGTERM), (signal.SIGKILL,)])
async def test_nothing_remains_after_a_reload(
    tmp_path: Path, numbers: tuple[signal.Signals, ...]
) -> None:
    (tmp_path / "locked.py").write_text(LOCKED)
    command = (sys.executable, "-m", "kapy.cli.main", "extension", "serve", "locked", "--reload")
    process = await asyncio.create_subprocess_exec(
        *(*command, "--port", "0"),
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        stderr=asyncio.subprocess.DEVNULL,
    )
    await until((tmp_path / "runs").exists)
    for number in numbers:
        process.send_signal(number)
    await process.wait()
    await until(lambda: not is_held(tmp_path))


def test_only_sources_are_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("herd/__init__.py", "herd/a/b.py", "herd/.venv/x.py", "herd/__pycache__/y.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "lone.py").write_text("")
    (tmp_path / "herd" / "notes.txt").write_text("")
    assert source_folder("herd.a.b:extension") == tmp_path / "herd"
    assert source_folder("lone") == tmp_path
    assert source_folder("nowhere") == tmp_path
    names = {str(stamp.relative_to(tmp_path)) for stamp in file_stamps(tmp_path / "herd")}
    assert names == {"herd/__init__.py", "herd/a/b.py"}


def test_a_mistake_in_the_source_is_reported(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text("x = 1")
    bad.write_text("def f(:")
    assert syntax_error([good, tmp_path / "gone.py"]) == ""
    assert syntax_error([good, bad]).startswith(f"{bad}: invalid syntax")
