"""The log of boot data in a machine's container: the output and the result of each command.

It is a file in the container, so it can be read through the engine even if the container has
stopped. It has the name of cloud-init's own log. Rotation limits its size; one older part is kept.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from kapy.kube.boot import RunCommand

PATH: Final = "/var/log/cloud-init-output.log"
OLDER: Final = f"{PATH}.1"
"""The part before the last rotation."""
MOST: Final = 8 << 20
"""Bytes of a part; a part is longer by at most one step of the copy, 2 MiB."""

_SCRIPT: Final = f"""\
log={PATH}; entry=$1; shift
note() {{ echo "== $(date -u +%Y-%m-%dT%H:%M:%SZ) $1" >> "$log"; }}
size() {{ wc -c < "$log" || echo 0; }}
keep() {{
  while now=$(size); do
    if [ "$now" -ge {MOST} ]; then
      mv -f "$log" "$log.1"; (umask 077; note "$entry: goes on after a rotation"); now=$(size)
    fi
    dd bs=65536 count=32 2> /dev/null >> "$log"
    [ "$(size)" -gt "$now" ] || break
  done
  cat > /dev/null
}}
mkdir -p "${{log%/*}}"; (umask 077; note "$entry: begins")
exec 3>&1 4>&2
code=$( {{ {{ {{
    {{ "$@" 3>&- 4>&- 5>&- 6>&- 7>&-; echo $? >&5; }} 2>&1 >&6 | tee /dev/fd/7 >&4 6>&-
  }} 6>&1 | tee /dev/fd/7 >&3; }} 7>&1 | keep 2> /dev/null; }} 5>&1 )
note "$entry: exit status $code"
exit "$code"
"""
"""Runs a command and copies both of its outputs, which stay apart, to the log. Lines that cannot be
written to the log are dropped: a full disk of the log is no failure of the command."""

WITH_LOG: Final = ("/bin/sh", "-c", _SCRIPT, "boot-log")

_READ: Final = f"""\
log={PATH}; most=$1; mark=$2; follow=$3
size() {{ if [ -f "$1" ]; then wc -c < "$1"; else echo -1; fi; }}
now=$(size "$log")
echo $(size "$log.1") $now
if [ -f "$log.1" ]; then tail -c "$most" "$log.1"; fi
if [ "$now" -gt "$most" ]; then skip=$((now - most)); else skip=0; fi
if [ "$now" -gt 0 ]; then tail -c "+$((skip + 1))" "$log" | head -c "$((now - skip))"; fi
echo "$mark"
if [ "$now" -lt 0 ]; then now=0; fi
if [ "$follow" ]; then exec tail -c "+$((now + 1))" --follow=name --retry "$log" 2> /dev/null; fi
"""

_MARK: Final = re.compile(
    r"^== (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) .*: (begins|exit status \d*)$", re.ASCII | re.MULTILINE
)


def with_log(command: RunCommand) -> RunCommand:
    """Return the command, which also writes to the log."""
    return replace(command, argv=(*WITH_LOG, command.entry, *command.argv))


def read_command(most: int, mark: str, *, follow: bool) -> tuple[str, ...]:
    """Return the command that prints the log in the order of `LogPast`, and then the line `mark`.

    most: the maximum bytes of each part, from its end. follow: keep printing what is added later.
    """
    return ("/bin/sh", "-c", _READ, "read-boot-log", str(most), mark, "yes" if follow else "")


class LogPast(NamedTuple):
    """The log when it was read: the sizes of both parts, -1 for a missing one, and
    the end of their content."""

    older: int
    newer: int
    content: bytes

    @property
    def exists(self) -> bool:
        """Whether there is a log."""
        return max(self.older, self.newer) >= 0

    def is_cut(self, most: int) -> bool:
        """Return whether one of both files is longer than `most` bytes, so that only its end was
        read.
        """
        return max(self.older, self.newer) > most


def log_past(printed: bytes) -> LogPast | None:
    """Parse the output of `read_command` before the mark; None if it is malformed."""
    line, _, content = printed.partition(b"\n")
    try:
        older, newer = map(int, line.split())
    except ValueError:
        return None
    return LogPast(older, newer, content)


def since(text: str, moment: datetime) -> str:
    """Return the log without the commands that ended before a moment."""
    begin = 0
    for mark in _MARK.finditer(text):
        if mark[2] == "begins":
            begin = mark.start()
        elif (ended := _time(mark[1])) is not None and ended >= moment:
            return text[begin:]
        elif ended is not None:
            begin = mark.end() + 1
    return text[begin:]


def last_lines(content: bytes, number: int) -> bytes:
    """Return the last lines of a log."""
    begin = len(content) - content.endswith(b"\n")
    for _ in range(number):
        begin = content.rfind(b"\n", 0, begin)
        if begin < 0:
            return content
    return content[begin + 1 :] if number else b""


def _time(text: str) -> datetime | None:
    """Parse the time in a mark; None for output of a command that only looks like a mark."""
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None
