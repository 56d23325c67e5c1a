"""The log of boot data in a machine's container: what each command printed, and how it ended.

It is a file of the container, so that whoever reaches the engine can read it, also when the
container has stopped. It has the name of cloud-init's own log.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from kapy.kube.boot import RunCommand

PATH: Final = "/var/log/cloud-init-output.log"

_SCRIPT: Final = f"""\
log={PATH}; entry=$1; shift
note() {{ echo "== $(date -u +%Y-%m-%dT%H:%M:%SZ) $1" >> "$log"; }}
mkdir -p "${{log%/*}}"; (umask 077; note "$entry: begins")
exec 3>&1 4>&2
code=$( {{ {{
    {{ "$@" 3>&- 4>&- 5>&- 6>&-; echo $? >&5; }} 2>&1 >&6 | tee -a "$log" >&4 6>&-
  }} 6>&1 | tee -a "$log" >&3; }} 5>&1 )
note "$entry: exit status $code"
exit "$code"
"""
"""Runs a command and copies both of its outputs, which stay apart, to the log."""

WITH_LOG: Final = ("/bin/sh", "-c", _SCRIPT, "boot-log")

_MARK: Final = re.compile(
    r"^== (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) .*: (begins|exit status \d*)$", re.ASCII | re.MULTILINE
)


def with_log(command: RunCommand) -> RunCommand:
    """The command, which also writes to the log."""
    return replace(command, argv=(*WITH_LOG, command.entry, *command.argv))


def since(text: str, moment: datetime) -> str:
    """The log without the commands that ended before a moment."""
    begin = 0
    for mark in _MARK.finditer(text):
        if mark[2] == "begins":
            begin = mark.start()
        elif _time(mark[1]) >= moment:
            return text[begin:]
        else:
            begin = mark.end() + 1
    return text[begin:]


def _time(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
