"""Programs of kapy as forks of one server, which all workers of a test run share."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from typing import Final

from tests.fork_server.server import USER

ROOT: Final = Path(__file__).resolve().parents[2]
IS_SUPPORTED: Final = sys.platform == "linux"
START_TIMEOUT: Final = 120.0
_RUN: Final = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())


@cache
def shims() -> Path:
    """The folder with `kapy` and `python`, which run as forks of the server.

    Start the server if it does not run. It ends with the last process that called this function.
    The folder is empty on systems that cannot do that: there, `kapy` is that of the environment.
    """
    folder = Path(gettempdir()) / f"kapy-forks-{os.getuid()}-{_RUN}"
    if not IS_SUPPORTED:
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder
    lock = folder.with_suffix(".lock")
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            _use(folder)
        except OSError:
            _start(folder)
    return folder


def python() -> str:
    """The path of a Python whose `-m MODULE` is a fork of the server, where that is possible."""
    return str(shims() / "python") if IS_SUPPORTED else sys.executable


_uses: Final[list[socket.socket]] = []
_started: Final[list[subprocess.Popen[bytes]]] = []
"""Kept until this process ends, and with it the server."""


def _use(folder: Path) -> None:
    """Raises OSError if no server runs."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(folder / "socket"))
        connection.sendall(USER)
    except OSError:
        connection.close()
        raise
    _uses.append(connection)


def _start(folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "socket").unlink(missing_ok=True)
    text = (Path(__file__).parent / "shim.py").read_text(encoding="utf-8")
    for name in ("kapy", "python"):
        program = folder / name
        program.write_text(f"#!{sys.executable} -IS\n{text}", encoding="utf-8")
        program.chmod(0o700)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.fork_server.server", str(folder)],
            cwd=ROOT,
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    _started.append(process)
    end = time.monotonic() + START_TIMEOUT
    while True:
        try:
            return _use(folder)
        except OSError:
            words = (folder / "log").read_text(errors="replace") if folder.exists() else ""
            assert process.poll() is None, words
            assert time.monotonic() < end, words
            time.sleep(0.02)
