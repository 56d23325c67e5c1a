"""Behavioural conformance: a provider runs, and is judged by what it does."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from kapy._aio.clock import Clock, loop_clock
from kapy._aio.services import running
from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.kube.errors import KapyError
from kapy.kube.names import Resource
from kapy.testing.conformance.behaviour.check import CannotRun, Check, NotApplicable
from kapy.testing.conformance.errors import SubjectError
from kapy.testing.conformance.findings import Finding, Report, Result, State
from kapy.testing.conformance.ground import Ground, embedded
from kapy.testing.conformance.pool_machines import PoolMachines
from kapy.testing.conformance.rules import RULES, Checked, Rule
from kapy.testing.conformance.scene import ONLY, World
from kapy.testing.conformance.seen import Seen
from kapy.testing.conformance.subject import REAL, VIRTUAL, Kind, Limits, Patience, Subject

_FOLLOWED: Final = (Cluster.RESOURCE, Machine.RESOURCE, MachinePool.RESOURCE)
ONCE: Final = "once"
"""The rule that only bad days show."""
LIMITS: Final = {0: Limits(), 1: Limits(ONLY, ONLY)}


@dataclass
class Verdicts:
    """What came of the checks so far, by rule.

    finished: the looks that came to their end. died: how the provider ended, "" where it did not.
    """

    findings: defaultdict[str, list[Finding]] = field(default_factory=lambda: defaultdict(list))
    passed: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    not_run: dict[str, str] = field(default_factory=dict)
    not_applicable: dict[str, str] = field(default_factory=dict)
    finished: set[tuple[Check, Resource]] = field(default_factory=set)
    died: str = ""

    def result(self, rule: Rule) -> Result | None:
        """What is known of a rule; None where no check was tried."""
        if found := self.findings.get(rule.id):
            return Result(rule, State.BROKEN, findings=tuple(found))
        if rule.id in self.not_run:
            return Result(rule, State.NOT_RUN, self.not_run[rule.id])
        if count := self.passed.get(rule.id):
            return Result(rule, State.PASSED, f"{count} looked at")
        if rule.id in self.not_applicable:
            return Result(rule, State.NOT_APPLICABLE, self.not_applicable[rule.id])
        return None


async def judged(
    subject: Subject,
    checks: Sequence[Check],
    *,
    clock: Clock | None = None,
    light: bool = False,
    patience: Patience | None = None,
    seeds: Sequence[int] = (),
) -> Report:
    """What is known of every rule of behaviour, on an API server of our own.

    light: see `ground.embedded`. seeds: of bad days, see `faults`. Raises SubjectError where the
    provider does not start.
    """
    patience = patience or (REAL if subject.way.network else VIRTUAL)
    verdicts = Verdicts()
    try:
        async with asyncio.timeout(patience.whole):
            async with embedded(subject, clock=clock or loop_clock(), light=light) as ground:
                await on_ground(ground, subject, checks, patience, verdicts)
    except TimeoutError:
        for check in checks:
            if verdicts.result(RULES[check.rule]) is None:
                why = f"the time for all checks ({patience.whole:g} seconds) was over"
                verdicts.not_run[check.rule] = why
    if seeds:
        from kapy.testing.conformance.faults import add_faults  # it needs this module

        await add_faults(subject, seeds, verdicts, clock=clock, light=light, patience=patience)
    return report(subject, verdicts)


async def on_ground(
    ground: Ground,
    subject: Subject,
    checks: Sequence[Check],
    patience: Patience,
    verdicts: Verdicts,
) -> None:
    """Do the checks, stage by stage. Raises SubjectError where the provider does not start."""
    async with watched(ground, subject, patience) as world:
        for stage in sorted({check.stage for check in checks}):
            chosen = [check for check in checks if check.stage == stage]
            if stage and not subject.way.restarts:
                for check in chosen:
                    verdicts.not_run[check.rule] = "somebody else runs the provider"
            elif stage in LIMITS:
                await _stage(world, chosen, LIMITS[stage], verdicts)
            else:
                await _side_by_side(world, chosen, verdicts)


@asynccontextmanager
async def watched(ground: Ground, subject: Subject, patience: Patience) -> AsyncIterator[World]:
    """What happens to a provider's objects is followed meanwhile."""
    seen = Seen(ground.client, None if ground.embedded else ground.ledger)
    machines = [one.resource for one in subject.of("infra-machine")]
    pools = PoolMachines(ground.client, seen, machines)
    async with running(seen=seen.run, pools=pools.run):
        for resource in (*_FOLLOWED, *(one.resource for one in subject.kinds)):
            await seen.follow(resource)
        yield World(ground, subject, seen, patience, partial(_another, ground, subject, patience))


@asynccontextmanager
async def _another(ground: Ground, subject: Subject, patience: Patience) -> AsyncIterator[World]:
    """An API server of our own beside the first. Raises CannotRun where that is somebody else's."""
    if not ground.embedded:
        raise CannotRun("it takes two management clusters of our own")
    async with (
        embedded(subject, clock=ground.clock, light=ground.light) as other,
        watched(other, subject, patience) as world,
    ):
        yield world


async def _stage(world: World, checks: Sequence[Check], limits: Limits, to: Verdicts) -> None:
    """Checks beside each other, while the provider runs; when it dies, the rest is not run."""
    started = False
    try:
        async with world.subject.way.running(world.ground, limits):
            started = True
            await _side_by_side(world, checks, to)
    except SubjectError as error:
        if not started and limits == Limits():
            raise
        if not started:
            for check in checks:
                to.findings[check.rule].append(_unstarted(world.subject, limits, error))
            return
        for check, kind in _looks(world.subject, checks, to):
            if (check, kind.resource) not in to.finished:
                to.not_run[check.rule] = str(error)
        to.died = str(error)


def _unstarted(subject: Subject, limits: Limits, error: SubjectError) -> Finding:
    flags = f"--namespace={limits.namespace} --watch-filter={limits.watch_filter}"
    mend = "make both flags known to the manager"
    return Finding("", subject.name, flags, str(error), mend)


async def _side_by_side(world: World, checks: Sequence[Check], to: Verdicts) -> None:
    async with asyncio.TaskGroup() as group:
        for number, (check, kind) in enumerate(_looks(world.subject, checks, to)):
            group.create_task(_looked(world, check, kind, number, to), name=check.rule)


def _looks(subject: Subject, checks: Iterable[Check], to: Verdicts) -> list[tuple[Check, Kind]]:
    found = []
    for check in checks:
        kinds = subject.kinds if check.role == "clusterctl" else subject.of(check.role)
        if unseen := subject.unseen.get(check.role):
            to.not_run[check.rule] = f"there is no example of {', '.join(unseen)}"
        elif not kinds:
            to.not_applicable[check.rule] = f"no kind of {check.role}"
        elif check.role == "clusterctl":
            kinds = kinds[:1]
        found += [(check, kind) for kind in kinds]
    return found


async def _looked(world: World, check: Check, kind: Kind, number: int, to: Verdicts) -> None:
    """One look, which takes what goes wrong with it as its result."""
    name = f"{world.ground.prefix}-{check.stage}-{number}"
    try:
        async with asyncio.timeout(world.patience.check):
            scene = await world.scene(kind, name)
            found = [one async for one in check.look(scene)]
    except TimeoutError:
        to.not_run[check.rule] = f"it took longer than {world.patience.check:g} seconds"
    except NotApplicable as error:
        to.not_applicable[check.rule] = str(error)
    except CannotRun as error:
        to.not_run[check.rule] = str(error)
    except KapyError as error:
        to.not_run[check.rule] = f"{kind.resource.kind}: {error}"
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        # Objects of providers may look like nothing that anybody has thought of.
        told = f"{type(error).__name__}: {error}"
        to.not_run[check.rule] = f"{kind.resource.kind}: something has an unexpected form: {told}"
    else:
        to.findings[check.rule] += found
        to.passed[check.rule] += 1
    to.finished.add((check, kind.resource))


def report(subject: Subject, verdicts: Verdicts) -> Report:
    """What is known of every rule that a look at the running provider tells."""
    return Report(subject.name, tuple(_results(subject, verdicts)), verdicts.died)


def _results(subject: Subject, verdicts: Verdicts) -> Iterable[Result]:
    for rule in RULES.values():
        if rule.checked is Checked.BEHAVIOUR:
            yield verdicts.result(rule) or _unchecked(subject, rule)


def _unchecked(subject: Subject, rule: Rule) -> Result:
    if rule.name != ONCE:
        return Result(rule, State.NOT_RUN, "there is no check of it")
    if not subject.of(rule.document):
        return Result(rule, State.NOT_APPLICABLE, f"no kind of {rule.document}")
    return Result(rule, State.NOT_RUN, "only bad days show it: see --faults")
