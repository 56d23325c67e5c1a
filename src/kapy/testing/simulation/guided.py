"""Tries random faults for some time, guided by coverage.

A run that reaches a fault in a state in which it has not happened yet is interesting. Half of the
runs change one fault of an interesting run, the others draw new ones.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from kapy.testing.simulation.campaign import undisturbed_run
from kapy.testing.simulation.forking import Verdict, run_apart
from kapy.testing.simulation.points import (
    FAULT_KINDS,
    Fault,
    Point,
    PointKind,
    format_faults,
    parse_faults,
)
from kapy.testing.simulation.scenarios import SCENARIOS, Scenario, scenario_named

UNFENCED: Final = frozenset(
    {
        ("second-leader", "infrastructure"),
        ("second-leader", "provider"),
        ("cloud-late", "provider"),
    }
)
"""Faults of managers that are drawn only where no machine is deleted. Two processes without an
election work with a cloud: one may create there what the other has just deleted. No provider can
prevent that: it is told of the deletion too late. Nor may it delete later what it has created for
an object that is gone, since a move takes objects away whose machines stay. A creation that a cloud
carries out a minute later is the same."""

_MOST_FAULTS: Final = 6


class Interesting(NamedTuple):
    """A run that reached a new pair of a fault and a state."""

    scenario: str
    seed: int
    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        return f"{self.scenario} {self.seed} {format_faults(self.faults)}"


def read_corpus(text: str) -> list[Interesting]:
    """Read runs, one a line. Raises BadFault, ValueError."""
    runs = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            name, seed, faults = line.split()
            runs.append(Interesting(name, int(seed), parse_faults(faults)))
    return runs


class Found(NamedTuple):
    """One run with its verdict. new: the number of pairs of a fault and a state that it was the
    first to reach.
    """

    run: Interesting
    verdict: Verdict
    new: int


def random_runs(
    names: Sequence[str],
    first_seed: int,
    *,
    faults: int,
    seconds: float,
    corpus: Iterable[Interesting] = (),
) -> Iterator[Found]:
    """Play a corpus, and then runs with random faults until the time is over.

    Each fresh seed plays one scenario, in turn.
    """
    exploration = Exploration(names, first_seed, faults=faults)
    for run in corpus:
        yield exploration.try_run(run)
    yield from exploration.runs(seconds)


class Exploration:
    """A search for runs that reach new pairs of a fault and a state. corpus: the interesting runs.
    known: the pairs that were reached."""

    def __init__(self, names: Iterable[str], seed: int, *, faults: int) -> None:
        self.corpus: list[Interesting] = []
        self.known: set[str] = set()
        self._scenarios = [scenario_named(name) for name in names or SCENARIOS]
        self._seed = seed
        self._faults = faults
        self._random = Random(f"{seed}/exploration")

    def try_run(self, run: Interesting) -> Found:
        """Play a run in a process of its own; keep it if it reaches a new pair of a fault and a
        state.
        """
        scenario = scenario_named(run.scenario)
        baseline = undisturbed_run(scenario, run.seed)
        verdict = run_apart(scenario, run.seed, run.faults, baseline)
        new = verdict.pairs - self.known
        self.known |= new
        if new and not verdict.violations:
            self.corpus.append(run)
        return Found(run, verdict, len(new))

    def runs(self, seconds: float) -> Iterator[Found]:
        """Try runs until the time is over."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            if self.corpus and self._random.random() < 0.5:
                run = self._changed(self._random.choice(self.corpus))
            else:
                run = self._fresh()
            yield self.try_run(run)

    def _fresh(self) -> Interesting:
        seed, self._seed = self._seed, self._seed + 1
        scenario = self._scenarios[seed % len(self._scenarios)]
        return Interesting(scenario.name, seed, self._draw(scenario, seed, self._faults))

    def _draw(self, scenario: Scenario, seed: int, count: int) -> tuple[Fault, ...]:
        points = undisturbed_run(scenario, seed).points
        seed_of_faults = self._random.getrandbits(32)
        return random_faults(
            seed_of_faults,
            count,
            points,
            without=scenario.without,
            unfenced=() if scenario.only_creates else UNFENCED,
        )

    def _changed(self, run: Interesting) -> Interesting:
        """Return a copy of a run with one fault added, removed or replaced."""
        faults = list(run.faults)
        if len(faults) > 1 and self._random.random() < 0.5:
            faults.remove(self._random.choice(faults))
        if len(faults) < _MOST_FAULTS:
            taken = {fault.point for fault in faults}
            more = self._draw(scenario_named(run.scenario), run.seed, 1)
            faults += [fault for fault in more if fault.point not in taken]
        return run._replace(faults=tuple(faults))


def random_faults(
    seed: int,
    count: int,
    points: Mapping[tuple[str, str], int],
    *,
    without: Collection[str] = (),
    unfenced: Collection[tuple[str, str]] = UNFENCED,
) -> tuple[Fault, ...]:
    """Return as many faults as wanted, each at another point.

    points: how many points the undisturbed run has, by manager and letter. without: kinds that are
    not drawn. unfenced: kinds that are not drawn for a manager. Each other kind of fault is as
    likely as any other.
    """
    random = Random(f"{seed}/faults")
    places = {
        kind: [
            (manager, letter)
            for manager, letter in sorted(points)
            if PointKind(letter) in FAULT_KINDS[kind].points and (kind, manager) not in unfenced
        ]
        for kind in sorted(FAULT_KINDS.keys() - set(without))
    }
    possible = [kind for kind, kind_places in places.items() if kind_places]
    faults: dict[Point, Fault] = {}
    total = sum(points.values())
    while possible and len(faults) < min(count, total):
        kind = random.choice(possible)
        manager, letter = random.choice(places[kind])
        point = Point(manager, letter, random.randint(1, points[manager, letter]))
        faults.setdefault(point, Fault(kind, point))
    return tuple(faults.values())
