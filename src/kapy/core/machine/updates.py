"""Who updates Machines in place, as the Machine controller sees them."""

from __future__ import annotations

import asyncio
from typing import NamedTuple, Protocol

from kapy.kube import Document, Key


class Progress(NamedTuple):
    """How far an update is. retry_after: seconds until there is more to say; 0: it is done."""

    retry_after: float = 0
    message: str = ""


class Updates(Protocol):
    """Asks an extension to update Machines."""

    async def update_machine(self, machine: Key, desired: Document) -> Progress:
        """Have a Machine made what it should be: any number of times, until it is done.

        desired: `machine`, `infrastructureMachine` and `bootstrapConfig` (if there is one). Raises
        KapyError when the update has failed for now.
        """
        ...


class Said:
    """What extensions said last of updates that are under way, and until when it counts.

    It counts only of what it was said of: an extension is asked at once about something else.
    Losing it (with this program) costs a request.
    """

    def __init__(self) -> None:
        self._said: dict[Key, tuple[object, float, Progress]] = {}

    def of(self, machine: Key, about: object) -> Progress | None:
        """What was said, with the seconds that are left; None if somebody is to be asked."""
        known = self._said.get(machine)
        if known is None or known[0] != about:
            return None
        left = known[1] - asyncio.get_running_loop().time()
        return known[2]._replace(retry_after=left) if left > 0 else None

    def keep(self, machine: Key, about: object, progress: Progress) -> None:
        """Remember an answer that asked to come again."""
        until = asyncio.get_running_loop().time() + progress.retry_after
        self._said[machine] = about, until, progress

    def forget(self, machine: Key) -> None:
        """Nothing is under way any more."""
        self._said.pop(machine, None)
