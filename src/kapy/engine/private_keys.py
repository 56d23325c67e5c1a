"""A pool of new private keys: generated in threads, and a few costly ones in advance.

An RSA key takes tens of milliseconds of a core, and a cluster needs five. They are generated in
low-priority threads, so that many new clusters do not starve the event loop, and a program may keep
some spare keys that are generated while it is idle. There are as many of them as were wanted at
once before, so that a fleet that creates many clusters finds the keys of the next ones ready. Spare
keys are in memory only: they are never stored, and end with the process. No key is returned twice.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from kapy.kube.pki import Algorithm, new_key

COSTLY: Final[frozenset[Algorithm]] = frozenset(("RSA-2048", "RSA-3072", "RSA-4096"))
USUAL: Final[Algorithm] = "RSA-2048"
NICENESS: Final = 10
SPARE_KEYS: Final = 10
"""Spare keys of a program that creates clusters for its users at any moment."""
MOST_SPARE: Final = 500
"""Spare keys after many were wanted at once: those of a hundred clusters, 1 MB, 15 s of a core."""


class PrivateKeyPool:
    """A pool of new private keys, some of which are generated in advance. spare: the least number
    of keys of the usual algorithm that are kept ready while `run` runs; 0 for none.
    """

    def __init__(self, spare: int = 0) -> None:
        self.spare = spare
        self._ready: deque[bytes] = deque()
        self._taken = 0
        self._wanted_before = 0
        self._wanted = asyncio.Event()
        self._under_way = 0
        self._idle = asyncio.Event()
        self._threads: ThreadPoolExecutor | None = None

    async def new(self, algorithm: Algorithm = USUAL) -> bytes:
        """Return a new key as PEM."""
        if algorithm not in COSTLY:
            return new_key(algorithm)
        if algorithm == USUAL:
            self._taken += 1
            self._wanted.set()
            if self._ready:
                return self._ready.popleft()
        self._under_way += 1
        self._idle.clear()
        try:
            return await self._generate(algorithm)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    @property
    def target(self) -> int:
        """The number of keys to keep ready: as many as were wanted at once, within limits."""
        if not self.spare:
            return 0
        return max(self.spare, min(max(self._taken, self._wanted_before), MOST_SPARE))

    async def run(self) -> None:
        """Keep the spare keys ready, with lower priority than requests; until cancelled."""
        try:
            while True:
                if len(self._ready) >= self.target:
                    # An earlier burst counts for half with each time that less is wanted.
                    self._wanted_before = max(self._taken, self._wanted_before // 2)
                    self._taken = 0
                    self._wanted.clear()
                    await self._wanted.wait()
                elif self._under_way:
                    await self._idle.wait()
                else:
                    self._ready.append(await self._generate(USUAL))
        finally:
            self._ready.clear()
            if self._threads is not None:
                self._threads.shutdown(wait=False, cancel_futures=True)

    async def _generate(self, algorithm: Algorithm) -> bytes:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(
                os.cpu_count(), thread_name_prefix="keys", initializer=_lower_priority
            )
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, new_key, algorithm)


def _lower_priority() -> None:
    """Lower the priority of this thread (on Linux; elsewhere threads have no priority of their
    own).
    """
    with suppress(AttributeError, OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
