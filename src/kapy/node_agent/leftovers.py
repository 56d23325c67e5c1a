"""Removal of processes and folders of Pods that were deleted while no agent ran."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Container
from contextlib import suppress
from pathlib import Path

from kapy.node_agent.processes import records


def end_leftovers(folder: Path, uids: Container[str]) -> None:
    """Kill the processes of all Pods except those with known UIDs, and delete their folders.

    These Pods are already deleted, so there is no grace period.
    """
    pods = folder / "pods"
    for item in pods.iterdir() if pods.is_dir() else ():
        if item.name in uids:
            continue
        for container in item.iterdir():
            record = records.read(container) if container.is_dir() else None
            if record is not None and record.is_alive:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(record.pid, signal.SIGKILL)
        shutil.rmtree(item, ignore_errors=True)
