"""The end of one transaction, and who waits for it."""

from __future__ import annotations

import asyncio


class Commit:
    """A transaction that is collected or being written.

    Each waiter has a future of its own, so that one who is cancelled takes nothing from the others.
    (`asyncio.shield` around a common future does the same, one turn of the event loop later.)
    """

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []

    async def wait(self) -> None:
        """Wait until it is on disk. Raises what it failed with."""
        own = asyncio.get_running_loop().create_future()
        self._waiting.append(own)
        await own

    def settle(self, error: BaseException | None = None) -> None:
        """Wake everybody: it is on disk, or it failed."""
        for one in self._waiting:
            if one.done():
                continue  # cancelled meanwhile
            if error is None:
                one.set_result(None)
            else:
                one.set_exception(error)
