"""Runs programs of kapy as forks of this process, which has imported nearly all of kapy.

    python -m tests.fork_server.server FOLDER

Most of the CPU time of a short program goes into its imports. FOLDER gets the `socket` that `shim`
connects to. A program has the files, folder, environment and umask of its shim, which is told its
process id and at last its status; it is killed when the shim is. The server ends when no process
uses it any more.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import os
import pkgutil
import re
import runpy
import selectors
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final, NoReturn

import kapy

USER: Final = b"u"
"""The first byte of a connection that is a user of the server, and no program to run."""

_SIZE: Final = 8
_MOST_FILES: Final = 250
_HIGH: Final = 600
"""Files of the server and of a message are kept above; a program has its files below."""
_FAILED: Final = 120
_NOT_IMPORTED: Final = re.compile(r"kapy\.testing|.*\.__main__$")


@dataclass(frozen=True)
class Message:
    """A program to run.

    first: of its path of modules. files: numbers in the program, of files that are open here.
    """

    module: str
    first: str
    folder: bytes
    umask: int
    files: dict[int, int]
    ignored: Sequence[int]
    arguments: Sequence[str]
    environ: dict[bytes, bytes]


def receive(connection: socket.socket) -> Message | None:
    """Read a message; None for a user of the server, or no message."""
    head, files, _, _ = socket.recv_fds(connection, _SIZE, _MOST_FILES)
    if len(head) < _SIZE:
        return None
    content = b""
    size = int.from_bytes(head, "big")
    while len(content) < size:
        content += connection.recv(size - len(content))
    folder, umask, numbers, ignored, count, *rest = content.split(b"\0")
    words, variables = map(os.fsdecode, rest[: int(count)]), rest[int(count) :]
    module, first, *arguments = words
    names = [int(number) for number in numbers.split()]
    return Message(
        module,
        first,
        folder,
        int(umask),
        {name: _moved_up(file) for name, file in zip(names, files, strict=True)},
        [int(number) for number in ignored.split()],
        arguments,
        {name: value for name, _, value in (entry.partition(b"=") for entry in variables)},
    )


def _moved_up(file: int) -> int:
    number = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    os.close(file)
    return number


class Server:
    """Forks, and tells each shim how its program ended."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._programs: dict[int, socket.socket] = {}
        self._users: set[socket.socket] = set()

    def run(self) -> None:
        """Serve until the last user has gone."""
        wake, woken = os.pipe()
        for end in (wake, woken):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(woken)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._listener.bind(str(self._folder / "socket"))
        self._listener.listen(64)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(wake, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == wake:
                    with suppress(BlockingIOError):
                        os.read(wake, 4096)
                elif key.fileobj is self._listener:
                    self._accept()
                else:
                    assert isinstance(key.fileobj, socket.socket)
                    if self._has_ended(key.fileobj):
                        return
            self._reap()

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        message = receive(connection)
        self._selector.register(connection, selectors.EVENT_READ)
        if message is None:
            self._users.add(connection)
            return
        pid = os.fork()
        if not pid:
            self._selector.close()
            become(message, self._folder)
        for file in message.files.values():
            os.close(file)
        self._programs[pid] = connection
        with suppress(OSError):
            connection.sendall(pid.to_bytes(4, "big"))

    def _has_ended(self, connection: socket.socket) -> bool:
        """Forget a connection that has ended; returns whether no user is left."""
        self._selector.unregister(connection)
        connection.close()
        for pid, other in self._programs.items():
            if other is connection:
                os.kill(pid, signal.SIGKILL)
        self._users.discard(connection)
        return not self._users

    def _reap(self) -> None:
        while self._programs:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            connection = self._programs.pop(pid)
            if connection.fileno() >= 0:
                with suppress(OSError):
                    connection.sendall(status.to_bytes(4, "big"))
                self._selector.unregister(connection)
                connection.close()


def become(message: Message, folder: Path) -> NoReturn:
    """Be the program, and end as it does."""
    code = _FAILED
    try:
        _prepare(message, folder)
        code = _code_of(message.module)
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _prepare(message: Message, folder: Path) -> None:
    signal.set_wakeup_fd(-1)
    os.setsid()
    for name in (
        *(signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT),
        *(signal.SIGUSR1, signal.SIGUSR2),
    ):
        signal.signal(name, signal.SIG_IGN if name in message.ignored else signal.SIG_DFL)
    is_ignored = signal.SIGINT in message.ignored
    signal.signal(signal.SIGINT, signal.SIG_IGN if is_ignored else signal.default_int_handler)
    os.closerange(3, _HIGH)
    for number, file in message.files.items():
        os.dup2(file, number)
    os.closerange(_HIGH, 2 * _HIGH)
    os.chdir(message.folder)
    os.umask(message.umask)
    os.environ.clear()
    os.environb.update(message.environ)
    time.tzset()
    path = os.environ.get("PYTHONPATH", "")
    sys.path[:1] = [message.first, *filter(None, path.split(os.pathsep))]
    sys.argv = [str(folder / "kapy"), *message.arguments]
    sys.stdout.reconfigure(  # type: ignore[union-attr]
        line_buffering=os.isatty(1), write_through=bool(os.environ.get("PYTHONUNBUFFERED"))
    )


def _code_of(module: str) -> int:
    """Run a module as Python does; returns the exit code."""
    try:
        if module in sys.modules:
            sys.exit(sys.modules[module].main())
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        sys.stderr.write(f"{error.code}\n")
        return 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def main(folder: Path) -> None:
    """Import what programs need, and serve."""
    sys.executable = str(folder / "python")
    for entry in pkgutil.walk_packages(kapy.__path__, "kapy."):
        if not _NOT_IMPORTED.match(entry.name):
            with suppress(ImportError):  # of an optional package
                import_module(entry.name)
    assert threading.active_count() == 1, "a fork has no threads"
    gc.collect()
    gc.freeze()
    try:
        Server(folder).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
