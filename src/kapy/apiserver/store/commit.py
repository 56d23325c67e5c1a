"""The completion of one transaction, and the tasks that wait for it."""

from __future__ import annotations

import asyncio


class Commit:
    """A transaction that collects writes or is being written to disk.

    Each waiter has its own future, so cancelling one waiter does not affect the others.
    (`asyncio.shield` around a common future does the same, but one event loop turn later.)
    """

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []

    async def wait(self) -> None:
        """Wait until the transaction is on disk. Raises the error that it failed with."""
        own = asyncio.get_running_loop().create_future()
        self._waiting.append(own)
        await own

    def settle(self, error: BaseException | None = None) -> None:
        """Wake all waiters with success or with the error."""
        for item in self._waiting:
            if item.done():
                continue  # this waiter was cancelled
            if error is None:
                item.set_result(None)
            else:
                item.set_exception(error)
