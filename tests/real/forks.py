"""kapy's commands as processes of their own: `python -m tests.real.forks`.

Each line that it reads, a JSON document, is a command: its `arguments`, and the file that its
output goes to (`log`). It answers with the process. That is a fork, as most of the time goes into
the start of Python; the last line of the log tells the exit code. All are killed when its input
ends.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from contextlib import suppress
from typing import Any

import kapy.apps.controllers
import kapy.apps.manager.programs
import kapy.apps.manager.webhooks
import kapy.apps.program.process
import kapy.cli.manager  # noqa: F401  (imported here, it is there in every fork)
from kapy.cli.root import run

ENDED = "exit code"


def main() -> None:
    """Start what is asked for, until nobody can ask any more."""
    signal.signal(signal.SIGCHLD, _reap)
    gc.freeze()
    started = []
    for line in iter(sys.stdin.readline, ""):
        document = json.loads(line)
        pid = os.fork()
        if not pid:
            _become(document)
        started.append(pid)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
    for pid in started:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _reap(*_: object) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _become(document: dict[str, Any]) -> None:
    """Be the command, and end as it does."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log = os.open(document["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for there, here in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(there, here)
    code = run(document["arguments"])
    os.write(log, f"{ENDED} {code}\n".encode())
    os._exit(code)


if __name__ == "__main__":
    main()
