"""Programs in the background, and waiting for what they do."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from tests.e2e.shell import Shell
from tests.waiting import LIMIT

T = TypeVar("T")

PATIENCE = LIMIT
INTERVAL = 0.05


def until(what: str, look: Callable[[], T | None]) -> T:
    """Return the first true result of `look`. Fails with `what` if there is none in time.

    It polls, because the programs under test are separate from the objects that they watch."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        result = look()
        if result:
            return result
        time.sleep(INTERVAL)
    raise AssertionError(f"not seen within {PATIENCE:.0f} s: {what}")


class Program:
    """A running program; what it says is in `log`."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self.log = log

    def stop(self) -> int:
        """Ask it to end, as a kubelet would; its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(PATIENCE)

    def kill(self) -> None:
        """End it without asking."""
        self._process.kill()
        self._process.wait(PATIENCE)


@contextmanager
def running(shell: Shell, name: str, *command: str | os.PathLike[str]) -> Iterator[Program]:
    """Run a program at somebody's home while the context is open; shows its log when that fails."""
    log = shell.home / f"{name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, env=shell.environ, cwd=shell.home, stdout=out, stderr=subprocess.STDOUT
        )
    try:
        yield Program(process, log)
    except BaseException as error:
        error.add_note(f"{name} said:\n{log.read_text(errors='replace')[-4000:]}")
        raise
    finally:
        process.kill()
        process.wait(PATIENCE)
