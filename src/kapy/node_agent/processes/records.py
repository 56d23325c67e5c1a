"""Records of running processes, by which a restarted plane finds them again.

A process ID alone may have been reused, so a record also has the kernel's start time of the
process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec

from kapy.kube.foreign_json import BadJson, decode_json

NAME = "process.json"


@dataclass(frozen=True, slots=True)
class Record:
    """The record of one process that runs for a container. began: the start time as the kernel
    reports it. started: the start time, RFC 3339. digest: the digest of the whole configuration.
    ports: the actual ports by requested ones. log: the file with the output.
    """

    pid: int
    began: str
    started: str
    digest: str
    program: str
    stamp: str
    log: str
    ports: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_alive(self) -> bool:
        """Whether the process is still there."""
        return start_time_of(self.pid) == self.began


def write(folder: Path, record: Record) -> None:
    """Write a record atomically."""
    fresh = folder / f"{NAME}.new"
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(msgspec.json.encode(asdict(record)))
    fresh.replace(folder / NAME)


def read(folder: Path) -> Record | None:
    """Return the record in a folder, None if there is no readable one."""
    try:
        return msgspec.convert(decode_json((folder / NAME).read_bytes()), Record)
    except (OSError, BadJson, msgspec.ValidationError):
        return None


def forget(folder: Path) -> None:
    """Delete the record of a process that has ended."""
    with suppress(OSError):
        (folder / NAME).unlink()


def start_time_of(pid: int) -> str:
    """Return the start time of a process as the kernel writes it; "" if there is no such
    process.
    """
    if sys.platform == "linux":
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            return ""
        fields = text.rpartition(")")[2].split()
        return "" if fields[0] in ("Z", "X") else fields[19]
    process = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return process.stdout.strip()


def memory_of(pid: int) -> int:
    """Resident memory of a process in bytes, 0 if unknown."""
    with suppress(OSError, ValueError, IndexError):
        if sys.platform == "linux":
            text = Path(f"/proc/{pid}/statm").read_text(encoding="ascii")
            return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE")
        process = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        return int(process.stdout.strip()) * 1024
    return 0
