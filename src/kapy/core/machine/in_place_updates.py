"""The interface for updating Machines in place."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import NamedTuple, Protocol

from kapy.kube import Document, Key


class Progress(NamedTuple):
    """The progress of an update. retry_after: seconds until the next call; 0: it is done."""

    retry_after: float = 0
    message: str = ""


class InPlaceUpdater(Protocol):
    """Calls an extension to update Machines."""

    async def update_machine(self, machine: Key, desired: Document) -> Progress:
        """Update a Machine to its desired state; called repeatedly until it is done.

        desired: `machine`, `infrastructureMachine` and `bootstrapConfig` (if there is one). Raises
        KapyError if the update has failed for now.
        """
        ...


class ProgressMemo:
    """Remembers the last progress of running updates until their next call is due.

    An entry is valid only for the same desired state. Losing it (with this program) costs one call.
    """

    def __init__(self) -> None:
        self._said: dict[Key, tuple[object, float, Progress]] = {}

    def get(self, machine: Key, about: object) -> Progress | None:
        """Return the last progress with the remaining seconds; None if the extension has to be
        called.
        """
        response = self._said.get(machine)
        if response is None or response[0] != about:
            return None
        seconds = response[1] - asyncio.get_running_loop().time()
        if timedelta(seconds=seconds) <= timedelta(0):  # less than a microsecond is no time
            return None
        return response[2]._replace(retry_after=seconds)

    def put(self, machine: Key, about: object, progress: Progress) -> None:
        """Remember a progress that requested another call."""
        until = asyncio.get_running_loop().time() + progress.retry_after
        self._said[machine] = about, until, progress

    def forget(self, machine: Key) -> None:
        """Forget a finished update."""
        self._said.pop(machine, None)
