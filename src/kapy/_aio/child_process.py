"""A child process that ends with this process, however this one ends.

Ending a child in a `finally` is not enough: a second Ctrl-C, SIGKILL and a crash run no `finally`.
A guard (`guard.py`) therefore runs the program, and ends it when a pipe to this process is closed.
`stop` closes that pipe, too: the ordered end and the sudden one are the same.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Final

from kapy._aio import guard

PATIENCE: Final = 5.0
"""Seconds between SIGTERM and SIGKILL when a program is stopped."""


class ChildProcess:
    """A running program in a session of its own, so that Ctrl-C in the terminal does not
    reach it.
    """

    def __init__(self, process: asyncio.subprocess.Process, pipe: int) -> None:
        self._process = process
        self._pipe = pipe

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        stdin: int | None = asyncio.subprocess.DEVNULL,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
        descriptors: Sequence[int] = (),
        patience: float = PATIENCE,
    ) -> ChildProcess:
        """Start a program as a child process.

        descriptors: the file descriptors that the program inherits. patience: the seconds between
        SIGTERM and SIGKILL when the program is stopped. Raises OSError if there is no such program.
        """
        path = (os.environ if environment is None else environment).get("PATH")
        if shutil.which(command[0], path=path) is None:
            raise FileNotFoundError(2, os.strerror(2), command[0])
        reading, writing = os.pipe()
        start = (sys.executable, "-I", "-S", guard.__file__, str(reading), str(patience))
        try:
            process = await asyncio.create_subprocess_exec(
                *start,
                *command,
                env=environment,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=[reading, *descriptors],
                start_new_session=True,
            )
        except BaseException:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        return cls(process, writing)

    @property
    def returncode(self) -> int | None:
        """The exit code, the negative signal number if a signal ended it, None while it runs."""
        return self._process.returncode

    @property
    def stdout(self) -> asyncio.StreamReader | None:
        """The program's output, if it was started with a pipe."""
        return self._process.stdout

    async def wait(self) -> int:
        """Wait for the end of the program; return its exit code."""
        code = await self._process.wait()
        self._close()
        return code

    async def stop(self) -> None:
        """End the program and the processes that it has left in its process group."""
        self._close()
        await self._process.wait()

    def _close(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
