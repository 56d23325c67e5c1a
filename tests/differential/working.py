"""A part of a run: cases of one area, by number, compared in one process."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from kapy._aio.clock import system_clock
from tests.differential.case import Case
from tests.differential.comparing import Outcome, Pair
from tests.differential.draw import Draw
from tests.differential.initial_objects import prepare
from tests.differential.peers import embedded, remote
from tests.differential.progress import Progress

AREAS: Final[tuple[str, ...]] = (
    "crud",
    "patches",
    "applies",
    "lists",
    "watches",
    "metadata",
    "deletions",
    "paths",
    "builtins",
    "crds",
    "schemas",
    "webhooks",
    "conversions",
    "components",
    "templates",
    "rollouts",
)
HOOKED: Final = ("webhooks", "conversions")
AT_A_TIME: Final = 4
WAITING: Final = ("schemas", "crds", *HOOKED)
"""Areas whose cases wait, as kube-apiserver does for two seconds before it creates the first object
of a kind."""


@dataclass(frozen=True, slots=True)
class Part:
    """The cases to compare, and the address of the real server."""

    area: str
    seed: int
    numbers: range
    url: str
    ca: str


@dataclass
class Found:
    """The results of a part: answers compared, equal ones, and for each class the numbers of its
    cases. dropped: steps to which the real server gave no answer, and those after them. lost: cases
    that could not be played."""

    answers: int = 0
    dropped: int = 0
    equal: int = 0
    causes: dict[str, list[int]] = field(default_factory=dict)
    unequal: dict[str, int] = field(default_factory=dict)
    lost: list[int] = field(default_factory=list)

    def add(self, other: Found) -> None:
        """Take in what another part found."""
        self.answers += other.answers
        self.dropped += other.dropped
        self.equal += other.equal
        self.lost += other.lost
        for cause, numbers in other.causes.items():
            self.causes.setdefault(cause, []).extend(numbers)
            self.unequal[cause] = self.unequal.get(cause, 0) + other.unequal[cause]


def generated(area: str, seed: int, number: int) -> Case:
    """A case of an area."""
    generate: Callable[[Draw], Case] = importlib.import_module(
        f"tests.differential.areas.{area}"
    ).generate
    case = generate(Draw(f"{seed}/{area}/{number}"))
    return {"id": f"{area}-{seed}-{number}", "title": f"generated: {area}", **case}


@asynccontextmanager
async def pair(url: str, ca: str, *, hooks: bool) -> AsyncIterator[Pair]:
    """Both servers, with the kinds that cases are about."""
    webhooks: Any = None
    if hooks:
        webhooks = importlib.import_module("tests.differential.hooks").Hooks()
    async with remote(url, ca) as real, embedded(system_clock) as own:
        await prepare(own)
        yield Pair(real, own, webhooks)


async def _outcome(both: Pair, case: Case) -> Outcome | None:
    """Return the result of a case, or None if an overloaded server did not even prepare it."""
    try:
        return await both.compare(case)
    except (TimeoutError, OSError):
        return None


async def _compare(part: Part) -> Found:
    result, numbers = Found(), iter(part.numbers)
    progress = Progress(part.area, part.numbers)

    async def work(both: Pair) -> None:
        for number in numbers:
            with progress.case(number):
                outcome = await _outcome(both, generated(part.area, part.seed, number))
            if outcome is None:
                result.lost.append(number)
                continue
            progress.count(outcome.answers, len(outcome.unequal))
            result.answers += outcome.answers
            result.dropped += outcome.dropped
            result.equal += outcome.answers - len(outcome.unequal)
            if outcome.cause:
                result.causes.setdefault(outcome.cause, []).append(number)
                count = result.unequal.get(outcome.cause, 0)
                result.unequal[outcome.cause] = count + len(outcome.unequal)

    at_a_time = AT_A_TIME * 4 if part.area in WAITING else AT_A_TIME
    async with (
        progress.reported(),
        pair(part.url, part.ca, hooks=part.area in HOOKED) as both,
        asyncio.TaskGroup() as group,
    ):
        for _ in range(at_a_time):
            group.create_task(work(both))
    for cause, cases in result.causes.items():
        progress.say(f"  {result.unequal[cause]} {cause}   {cases[:4]}")
    return result


def compare(part: Part) -> Found:
    """Compare the cases of a part, in this process."""
    return asyncio.run(_compare(part))
