"""Stands in for `kapy`, and for Python: has the fork server run the program, and ends as it ends.

It is copied beside the socket of the server, as `kapy` and as `python`. Its standard streams and
all other open files, folder, environment, umask and ignored signals become those of the program.
Signals are passed on. Whatever else Python is asked to do, Python does.
"""

from __future__ import annotations

# These need no import of `enum`, which takes as long as all the rest.
import _signal  # type: ignore[import-not-found]
import _socket
import os
import sys

FOLDER, NAME = os.path.split(os.path.abspath(sys.argv[0]))
SIGNALS = (
    *(_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP),
    *(_signal.SIGQUIT, _signal.SIGUSR1, _signal.SIGUSR2),
)
KNOWN = ("PYTHON", "PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")
"""Variables of Python's start that the server obeys, or that change nothing for it.

`PYTHON` is none of Python's own: `make PYTHON=FILE` hands it to each program that it starts.
"""


def main() -> None:
    """Run the program."""
    module, arguments, first = "kapy.cli.main", sys.argv[1:], os.path.dirname(sys.executable)
    if NAME == "python":
        if len(arguments) < 2 or arguments[0] != "-m":
            os.execv(sys.executable, [sys.executable, *arguments])
        module, arguments, first = arguments[1], arguments[2:], os.getcwd()
    if any(name.startswith("PYTHON") and name not in KNOWN for name in os.environ):
        os.execv(sys.executable, [sys.executable, "-m", module, *arguments])
    process: list[int] = []
    signals: list[int] = []

    def pass_on(arrived: int, _: object) -> None:
        if not process:
            signals.append(arrived)
            return
        try:  # noqa: SIM105  (contextlib takes long to import)
            os.kill(process[0], arrived)
        except ProcessLookupError:
            pass

    ignored = [name for name in SIGNALS if _signal.getsignal(name) == _signal.SIG_IGN]
    for name in SIGNALS:
        if name not in ignored:
            _signal.signal(name, pass_on)
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.connect(os.path.join(FOLDER, "socket"))
    send(connection, [module, first, *arguments], ignored)
    process.append(int.from_bytes(received(connection), "big"))
    for arrived in signals:
        pass_on(arrived, None)
    end_as(int.from_bytes(received(connection), "big"))


def send(connection: _socket.socket, words: list[str], ignored: list[int]) -> None:
    """Send what the server needs to know, and the open files."""
    files = [int(name) for name in os.listdir("/proc/self/fd")]
    files = [name for name in files if name != connection.fileno() and is_open(name)]
    fields = [
        os.getcwdb(),
        b"%d" % os.umask(0),
        b" ".join(b"%d" % name for name in files),
        b" ".join(b"%d" % name for name in ignored),
        b"%d" % len(words),
        *map(os.fsencode, words),
        *(name + b"=" + value for name, value in os.environb.items()),
    ]
    content = b"\0".join(fields)
    rights = b"".join(name.to_bytes(4, sys.byteorder) for name in files)
    size = len(content).to_bytes(8, "big")
    connection.sendmsg([size], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    connection.sendall(content)
    for name in files:
        if name != 2:  # the program's own, from now on: nobody shall wait for their end here
            os.close(name)


def is_open(file: int) -> bool:
    """Whether a number is that of an open file."""
    try:
        os.fstat(file)
    except OSError:  # the folder that was listed
        return False
    return True


def received(connection: _socket.socket) -> bytes:
    """Read a number from the server."""
    content = b""
    while len(content) < 4:
        part = connection.recv(4 - len(content))
        if not part:
            os.write(2, b"the fork server has ended\n")
            os._exit(70)
        content += part
    return content


def end_as(status: int) -> None:
    """End as the program ended."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != _signal.SIGKILL:
            _signal.signal(number, _signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


main()
