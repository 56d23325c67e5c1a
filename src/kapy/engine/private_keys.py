"""A pool of new private keys: generated in threads, and a few costly ones in advance.

An RSA key takes tens of milliseconds of a core, and a cluster needs five. They are generated in
low-priority threads, so that many new clusters do not starve the event loop, and a program may keep
some spare keys that are generated while it is idle. No key is returned twice.
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


class PrivateKeyPool:
    """Generates private keys. spare: how many keys of the usual algorithm are kept ready while
    `run` runs.
    """

    def __init__(self, spare: int = 0) -> None:
        self.spare = spare
        self._ready: deque[bytes] = deque()
        self._wanted = asyncio.Event()
        self._under_way = 0
        self._idle = asyncio.Event()
        self._threads: ThreadPoolExecutor | None = None

    async def new(self, algorithm: Algorithm = USUAL) -> bytes:
        """Return a new key as PEM."""
        if algorithm not in COSTLY:
            return new_key(algorithm)
        if algorithm == USUAL and self._ready:
            self._wanted.set()
            return self._ready.popleft()
        self._under_way += 1
        self._idle.clear()
        try:
            return await self._generate(algorithm)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def run(self) -> None:
        """Keep the spare keys ready, with lower priority than requests; until cancelled."""
        try:
            while True:
                if len(self._ready) >= self.spare:
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
