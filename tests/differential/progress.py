"""Progress reports of a part of a run, on standard error."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Final

EVERY: Final = 10.0


@dataclass
class Progress:
    """Cases of a part that are done, and those that are being played since when."""

    area: str
    numbers: range
    done: int = 0
    answers: int = 0
    equal: int = 0
    begun: dict[int, float] = field(default_factory=dict)

    @contextmanager
    def case(self, number: int) -> Iterator[None]:
        """One case, while it is played."""
        self.begun[number] = time.monotonic()
        try:
            yield
        finally:
            del self.begun[number]
            self.done += 1

    def count(self, answers: int, unequal: int) -> None:
        """Count the answers to a case."""
        self.answers += answers
        self.equal += answers - unequal

    def line(self, now: float) -> str:
        """One line for the reader who waits; it names the case that takes longest."""
        share = 100 * self.equal / max(self.answers, 1)
        line = (
            f"{self.area} {self.numbers.start}-{self.numbers.stop - 1}: {self.done} of "
            f"{len(self.numbers)} cases, {self.answers} answers, {share:.2f} % equal"
        )
        if not self.begun:
            return f"{line}; all played, servers are ending"
        number, since = min(self.begun.items(), key=lambda pair: pair[1])
        return f"{line}; case {number} is played since {now - since:.0f} s"

    @staticmethod
    def say(line: str) -> None:
        """Write a line on standard error."""
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    @asynccontextmanager
    async def reported(self) -> AsyncIterator[None]:
        """Write a line every ten seconds."""

        async def report() -> None:
            while True:
                await asyncio.sleep(EVERY)
                self.say(self.line(time.monotonic()))

        async with asyncio.TaskGroup() as tasks:
            reporting = tasks.create_task(report())
            try:
                yield
            finally:
                reporting.cancel()
