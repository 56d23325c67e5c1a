"""Runs a program and ends it when the process that started it has ended.

    python -I -S guard.py FD SECONDS PROGRAM [ARGUMENT]...

FD: a pipe whose other end the starting process holds open. The pipe ends when that process closes
it and also when that process is killed, so the same code stops the program in both cases. The
program then gets SIGTERM, and after SECONDS its process group is killed. The guard ends as the
program ended: with its exit code, or by the same signal. This file imports nothing but the standard
library, so that it starts at once.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import sys
import time

CANNOT_START = 125
_HEARD = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_STEP = 0.02


def main(pipe: int, seconds: float, command: list[str]) -> int:
    """Run the program; returns its status as `os.waitpid` gives it."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in _HEARD:  # the end of the pipe tells when to stop
        signal.signal(number, signal.SIG_IGN)
    program = _start_program(pipe, command)
    if not _ends_first(program, pipe, woken):
        os.kill(program, signal.SIGTERM)
        _wait(program, time.monotonic() + seconds)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(program, signal.SIGKILL)  # the zombie keeps the group's number in use
    return os.waitpid(program, 0)[1]


def _start_program(pipe: int, command: list[str]) -> int:
    """Return the process id of the program, which has a session of its own by now."""
    reading, writing = os.pipe()  # closed by exec
    program = os.fork()
    if not program:
        _become(pipe, command)
    os.close(writing)
    os.read(reading, 1)
    os.close(reading)
    return program


def _become(pipe: int, command: list[str]) -> None:
    try:
        os.setsid()
        os.close(pipe)
        for number in (*_HEARD, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(CANNOT_START)


def _ends_first(program: int, pipe: int, woken: int) -> bool:
    """Wait until the program has ended, or the pipe; returns whether the program was the first.

    SIGCHLD also tells that a program was stopped (SIGSTOP) or goes on, which does not end it.
    """
    while not _has_ended(program):
        ready, _, _ = select.select([pipe, woken], [], [])
        if pipe in ready:
            return False
        os.read(woken, 64)
    return True


def _wait(program: int, deadline: float) -> None:
    # Polling, because a signal could arrive between the check and a blocking wait.
    while not _has_ended(program) and time.monotonic() < deadline:
        time.sleep(_STEP)


def _has_ended(program: int) -> bool:
    """Return whether the program has ended; it stays a zombie."""
    options = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return os.waitid(os.P_PID, program, options) is not None


def _end_as(status: int) -> None:
    """End this process as the program ended."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    _end_as(main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
