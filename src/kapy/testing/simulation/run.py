"""Play one run of a scenario with its faults, and report the violations of rules."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.http import Request
from kapy.testing.simulation.event_loop import SimulationLoop, deterministic_collection
from kapy.testing.simulation.network import Decide
from kapy.testing.simulation.points import Fault, Point
from kapy.testing.simulation.rules import Referee
from kapy.testing.simulation.rules.catalogue import (
    CLOUD,
    IDLE,
    NO_HOT_LOOP,
    PROGRESS,
    PROMPT,
    QUIESCENCE,
    SAME_END,
)
from kapy.testing.simulation.rules.rule import Violation
from kapy.testing.simulation.scenarios import Scenario
from kapy.testing.simulation.states import (
    EndState,
    count_differences,
    differences,
    end_state,
)
from kapy.testing.simulation.user import GoalMissed, User
from kapy.testing.simulation.world import World

QUIET: Final = 400.0
"""Seconds without a write after which a world is at rest: longer than any probe or grace period."""
RESTLESS: Final = 6000.0
"""Seconds after which a world that still writes counts as never at rest."""
SETTLING: Final = 200.0
"""Seconds after the last write in which a restarted manager may still reconcile all objects."""
IDLE_WORK: Final = 30
"""The maximum number of reconciles and requests of all managers from SETTLING to QUIET seconds."""
SLOWER: Final = 10
"""The factor by which a custom provider may take longer, and may send more requests while idle."""
SHOWN: Final = 10
"""The maximum number of names of a cloud in a report."""
WORK_FACTOR: Final = 10
WORK_BASE: Final = 2000


@dataclass(frozen=True, slots=True)
class Baseline:
    """The undisturbed run of a scenario: its end and its work.

    cloud: the names of what a provider's cloud had in the end.
    """

    end: EndState
    work: int
    cloud: Sequence[str] | None
    points: dict[tuple[str, str], int]


@dataclass(slots=True)
class Outcome:
    """The result of one run. faults: the planned faults. missed: the planned faults whose point the
    run did not reach. seconds: the virtual time that it took. pairs: the pairs of a fault and the
    state in which it happened."""

    scenario: str
    seed: int
    faults: tuple[Fault, ...] = ()
    missed: tuple[Fault, ...] = ()
    violations: list[Violation] = field(default_factory=list)
    steps: list[Document] = field(default_factory=list)
    baseline: Baseline | None = None
    seconds: float = 0.0
    pairs: frozenset[str] = frozenset()

    @property
    def is_good(self) -> bool:
        """Return whether no rule was broken."""
        return not self.violations


OnRest = Callable[[World], None]
"""Called when a world that has broken no rule is at rest."""
OnBegin = Callable[[], Baseline | None]
"""Called when a scenario is prepared; returns the undisturbed run, None to use the given one."""
PAUSE: Final = 0.03
"""The minimum seconds until the next timer for which a world counts as at rest: longer than any
message takes."""


class Planned:
    """Decides which fault happens at a point, by a list of planned faults. happened: the planned
    faults whose point was reached.
    """

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._by_point = {fault.point: fault for fault in faults}
        self.happened: list[Fault] = []

    def __call__(self, point: Point, _: Request | None) -> Fault | None:
        fault = self._by_point.get(point)
        if fault is not None:
            self.happened.append(fault)
        return fault


def run(
    scenario: Scenario,
    seed: int,
    faults: Sequence[Fault] = (),
    *,
    baseline: Baseline | None = None,
    decide: Decide | None = None,
    after: Callable[[Outcome], None] | None = None,
    until: float | None = None,
    on_rest: OnRest | None = None,
    on_begin: OnBegin = lambda: None,
) -> Outcome:
    """Play a scenario once, on an event loop of its own.

    baseline: the undisturbed run to compare with, None if this is it. decide: decides faults
    instead of `faults`. after: called with the outcome in the loop. until: seconds of virtual time
    after which the run ends without a verdict.
    """
    planned = Planned(faults)
    with (
        deterministic_collection(),
        asyncio.Runner(loop_factory=lambda: SimulationLoop(seed)) as runner,
    ):
        outcome = runner.run(
            _play(scenario, seed, decide or planned, baseline, after, until, on_rest, on_begin)
        )
    outcome.faults = tuple(faults)
    if decide is None:
        outcome.missed = tuple(fault for fault in faults if fault not in planned.happened)
    return outcome


async def _play(
    scenario: Scenario,
    seed: int,
    decide: Decide,
    baseline: Baseline | None,
    after: Callable[[Outcome], None] | None,
    until: float | None,
    on_rest: OnRest | None,
    on_begin: OnBegin,
) -> Outcome:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimulationLoop)
    world = World(
        seed,
        decide,
        scenario.provider,
        scenario.extension,
        scenario.replicas,
        scenario.control_plane,
        has_containers=scenario.has_containers,
    )
    outcome = Outcome(scenario.name, seed)
    try:
        referee = Referee(world)
        if on_rest is not None:
            loop.on_jump = partial(_on_jump, world, on_rest)
        async with world.running():
            loop.is_shuffled = True
            baseline = await _act(world, referee, scenario, until, on_begin) or baseline
            if until is None:
                _judge(world, referee, outcome, baseline)
                outcome.violations = list(referee.violations)
            outcome.steps = world.trace.steps
            outcome.seconds = world.now()
            outcome.pairs = frozenset(world.network.pairs)
            if after is not None:
                after(outcome)
    finally:
        world.close()
    return outcome


def _on_jump(world: World, on_rest: OnRest, seconds: float) -> None:
    if seconds < PAUSE or not world.network.is_counting:
        return
    sides = (world, *world.companions)
    if not any(side.is_broken or side.failures or side.leaders for side in sides):
        on_rest(world)


async def _act(
    world: World, referee: Referee, scenario: Scenario, until: float | None, on_begin: OnBegin
) -> Baseline | None:
    user = User(world)
    baseline = None
    try:
        async with asyncio.timeout(until):
            if scenario.prepare is not None:
                await scenario.prepare(user)
                await _rest(world, referee)
            world.begin()
            baseline = on_begin()
            began = world.now()
            await scenario.play(user)
            _check_time(world, referee, scenario, world.now() - began)
            if not await _rest(world, referee):
                referee.report(QUIESCENCE, f"something is written for {RESTLESS:.0f} s on end")
    except GoalMissed as missed:
        referee.report(PROGRESS, str(missed))
    except TimeoutError:
        if until is None:
            raise
    return baseline


def _check_time(world: World, referee: Referee, scenario: Scenario, seconds: float) -> None:
    """Report an undisturbed run that took too long: some program waited without a reason."""
    most = scenario.seconds * (1 if world.provider is None else SLOWER)
    if seconds > most and not world.is_disturbed:
        text = f"{scenario.name} took {seconds:.0f} s, more than {most:.0f}"
        referee.report(PROMPT, text)


async def _rest(world: World, referee: Referee) -> bool:
    """Wait until nothing is written any more; return False if writes go on."""
    deadline = world.now() + RESTLESS
    work = world.work
    while world.now() < referee.last_write + QUIET:
        if world.now() > deadline:
            return False
        if world.now() <= referee.last_write + SETTLING:
            work = world.work
        await asyncio.sleep(QUIET / 10)
    most = IDLE_WORK * (1 if world.provider is None else SLOWER)
    if (idle := world.work - work) > most:
        text = f"{idle} reconciles and requests in {QUIET - SETTLING:.0f} s without a write"
        referee.report(IDLE, text)
    return True


def _judge(world: World, referee: Referee, outcome: Outcome, baseline: Baseline | None) -> None:
    referee.finish()
    work = world.work
    end = end_state(world)
    cloud = world.inventory()
    outcome.baseline = baseline or Baseline(end, work, cloud, world.network.points.counts())
    if baseline is None:
        _check_empty(world, referee, cloud)
    if baseline is None or any(violation.rule == PROGRESS.name for violation in referee.violations):
        return
    compare = count_differences if world.backups.has_lost else differences
    for text in compare(baseline.end, end):
        referee.report(SAME_END, text)
    if cloud is not None and baseline.cloud is not None and len(cloud) != len(baseline.cloud):
        text = f"it has {_join_names(cloud)}; without faults it has {_join_names(baseline.cloud)}"
        referee.report(CLOUD, text)
    if work > (most := baseline.work * WORK_FACTOR + WORK_BASE):
        referee.report(NO_HOT_LOOP, f"{work} reconciles and requests, more than {most}")


def _check_empty(world: World, referee: Referee, cloud: Sequence[str] | None) -> None:
    """Report a cloud that has more than at the begin after every Cluster was deleted. Each other
    run is compared with the undisturbed one, which nothing else judges."""
    if world.documents(world.resources["Cluster"]) or not cloud:
        return
    if surplus := list((Counter(cloud) - Counter(world.first_inventory)).elements()):
        referee.report(CLOUD, f"no Cluster is left, and it has {_join_names(surplus)}")


def _join_names(names: Sequence[str]) -> str:
    shown = [*names[:SHOWN], *(["…"] if len(names) > SHOWN else [])]
    return f"{len(names)} ({', '.join(shown)})" if names else "nothing"


class BadSimulation(KapyError):
    """A simulation cannot run; the message says why. outcome: the undisturbed run that broke a
    rule, if that is the reason."""

    def __init__(self, message: str, outcome: Outcome | None = None) -> None:
        super().__init__(message)
        self.outcome = outcome
