"""systemd's user manager in namespaces of its own, where nothing of the machine is touched.

Its processes see their own cgroups, /run and process ids. All of them end with the first one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from tests.waiting import LIMIT

_SYSTEMD: Final = ("/lib/systemd/systemd", "/usr/lib/systemd/systemd")
_RUNTIME: Final = "/run/user"
_INIT: Final = """
set -e
mount --make-rprivate /
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /sys/fs/cgroup/manager
echo $$ > /sys/fs/cgroup/manager/cgroup.procs
mount -t tmpfs none /run
mkdir -p -m 700 /run/user /run/systemd/system
echo ready
exec sleep infinity
"""


@dataclass
class UserManager:
    """A user's session on a machine with systemd. init: the first process of the namespaces."""

    home: Path
    init: int
    _systemd: subprocess.Popen[bytes] | None = None

    @property
    def environ(self) -> dict[str, str]:
        """The variables of the session."""
        own = Path(sys.executable).parent
        return {
            "PATH": f"{own}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": _RUNTIME,
        }

    def boot(self) -> None:
        """Start the manager, and with it the user's services."""
        words = (systemd(), "--user", "--log-target=console", "--log-level=warning")
        log = self.home / "systemd.log"
        with log.open("ab") as file:
            self._systemd = subprocess.Popen(
                self._entered(*words), env=self.environ, stdout=file, stderr=file
            )
        self.until(lambda: self._state() in ("running", "degraded"), "systemd runs")

    def shut_down(self) -> None:
        """End the manager, and with it the user's services."""
        assert self._systemd is not None
        self.run("systemctl", "--user", "exit")
        self._systemd.wait(LIMIT)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, whatever its exit code."""
        return subprocess.run(
            self._entered(*words),
            env=self.environ,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    def ok(self, *words: str) -> str:
        """The output of a command that must succeed."""
        done = self.run(*words)
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def processes(self, text: str) -> list[str]:
        """The command lines with a text of the session's processes."""
        lines = self.ok("ps", "-e", "-o", "args=").splitlines()
        return [line for line in lines if text in line]

    def kapy(self, line: str) -> str:
        """The output of a kapy command that must succeed."""
        return self.ok("kapy", *line.split())

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something holds that cannot be watched."""
        end = time.monotonic() + LIMIT
        while not holds():
            log = (self.home / "systemd.log").read_text()
            assert time.monotonic() < end, f"not within {LIMIT:.0f} s: {what}\n{log}"
            time.sleep(0.1)

    def _state(self) -> str:
        return self.run("systemctl", "--user", "is-system-running").stdout.strip()

    def _entered(self, *words: str) -> tuple[str, ...]:
        return ("nsenter", f"--target={self.init}", "--mount", "--pid", "--cgroup", "--", *words)


def systemd() -> str:
    """The path of systemd, "" if there is none."""
    return next((path for path in _SYSTEMD if Path(path).exists()), "")


@cache
def missing() -> str:
    """The reason why systemd cannot run in namespaces here, "" if it can."""
    programs = ("unshare", "nsenter", "systemctl")
    if lacking := [name for name in programs if shutil.which(name) is None]:
        return f"there is no {', '.join(lacking)}"
    if not systemd():
        return "there is no systemd"
    if os.geteuid() != 0:
        return "only root may make namespaces with cgroups of their own"
    try:
        with _namespaces():
            return ""
    except OSError as error:
        return str(error)


@contextmanager
def user_manager(home: Path) -> Iterator[UserManager]:
    """A user manager that has not been started yet."""
    with _namespaces() as init:
        (home / "systemd.log").touch()
        manager = UserManager(home, init)
        try:
            yield manager
        finally:
            os.kill(init, 9)
            if manager._systemd is not None:
                manager._systemd.wait(LIMIT)


@contextmanager
def _namespaces() -> Iterator[int]:
    """The first process of new namespaces; the others end with it. Raises OSError."""
    command = ["unshare", "--mount", "--pid", "--cgroup", "--fork", "--kill-child", "--mount-proc"]
    process = subprocess.Popen(
        [*command, "sh", "-c", _INIT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        if process.stdout.readline() != "ready\n":
            raise OSError(f"namespaces cannot be made: {process.stderr.read().strip()}")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        yield int(children.split()[0])
    finally:
        process.kill()
        process.communicate()
