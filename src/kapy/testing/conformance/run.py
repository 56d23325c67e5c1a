"""Behavioural conformance: a provider runs, and is judged by what it does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Final

from kapy._aio.clock import Clock, loop_clock
from kapy.kube.errors import KapyError
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.behaviour.stage import PARTS
from kapy.testing.conformance.capacity import needed, told
from kapy.testing.conformance.clearing import clear
from kapy.testing.conformance.errors import CannotRun, NotApplicable, SubjectError
from kapy.testing.conformance.faults import Course, add_faults
from kapy.testing.conformance.findings import Finding, Report
from kapy.testing.conformance.following import watched
from kapy.testing.conformance.ground import Ground, embedded
from kapy.testing.conformance.progress import progress
from kapy.testing.conformance.rules import RULES
from kapy.testing.conformance.scene import CLUSTER, ONLY, World
from kapy.testing.conformance.session import Session
from kapy.testing.conformance.subject import REAL, VIRTUAL, Kind, Limits, Patience, Subject
from kapy.testing.conformance.verdicts import Verdicts, report

LIMITS: Final = {0: Limits(), 1: Limits(ONLY, ONLY)}


async def judged(
    subject: Subject,
    checks: Sequence[Check],
    *,
    clock: Clock | None = None,
    light: bool = False,
    patience: Patience | None = None,
    seeds: Sequence[int] = (),
    session: Session | None = None,
) -> Report:
    """What is known of every rule of behaviour, on an API server of our own.

    light: see `ground.embedded`. seeds: of bad days, see `faults`. session: how it is conducted,
    and what could not be removed. Raises SubjectError where the provider does not start.
    """
    patience = patience or (REAL if subject.way.network else VIRTUAL)
    verdicts, session = Verdicts(), session or Session()
    async with (
        in_time(checks, patience, verdicts, session),
        embedded(subject, clock=clock or loop_clock(), light=light) as ground,
    ):
        await on_ground(ground, subject, checks, patience, verdicts, session)
    if seeds:
        session.tell(f"Bad days: {len(seeds)} for each kind")
        days = Course(subject, clock or loop_clock(), light, patience, session)
        await add_faults(days, seeds, verdicts)
    return report(subject, verdicts, session.remains)


@asynccontextmanager
async def in_time(
    checks: Sequence[Check], patience: Patience, verdicts: Verdicts, session: Session
) -> AsyncIterator[None]:
    """Stop the body when the time for all checks is over; what has no verdict is not run then."""
    whole = patience.whole * session.rounds(len(checks))
    try:
        async with asyncio.timeout(whole):
            yield
    except TimeoutError:
        for check in checks:
            if verdicts.result(RULES[check.rule]) is None:
                why = f"the time for all checks ({whole:g} seconds) was over"
                verdicts.not_run[check.rule] = why


async def on_ground(
    ground: Ground,
    subject: Subject,
    checks: Sequence[Check],
    patience: Patience,
    verdicts: Verdicts,
    session: Session,
) -> None:
    """Do the checks, stage by stage. Raises SubjectError where the provider does not start."""
    session.tell(told(needed(subject, checks, session.parallel)))
    telling = progress(verdicts, session) if subject.way.network else nullcontext()
    async with watched(ground, subject, patience, session) as world, telling:
        stages = sorted({check.stage for check in checks})
        for stage in stages:
            chosen = [check for check in checks if check.stage == stage]
            session.tell(
                f"Part {stages.index(stage) + 1} of {len(stages)}: {len(chosen)} checks, "
                f"{patience.check:g} seconds at most for each"
            )
            if stage and not subject.way.restarts:
                for check in chosen:
                    verdicts.not_run[check.rule] = "somebody else runs the provider"
            elif stage in LIMITS:
                await _stage(world, chosen, LIMITS[stage], (verdicts, session))
            else:
                await _side_by_side(world, chosen, verdicts, session)


async def _stage(
    world: World, checks: Sequence[Check], limits: Limits, both: tuple[Verdicts, Session]
) -> None:
    """Checks beside each other, while the provider runs; when it dies, the rest is not run."""
    started, to = False, both[0]
    try:
        async with world.subject.way.running(world.ground, limits):
            started = True
            await _side_by_side(world, checks, *both, clearing=True)
            await clear(world, world.ground.namespaces - world.cleared)
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


async def _side_by_side(
    world: World,
    checks: Sequence[Check],
    to: Verdicts,
    session: Session,
    *,
    clearing: bool = False,
) -> None:
    """clearing: the objects of a check are deleted as soon as it is over."""
    looks = _looks(world.subject, checks, to)
    turns = asyncio.Semaphore(session.parallel or len(looks) or 1)

    async def look(number: int, check: Check, kind: Kind) -> None:
        name = f"{world.ground.prefix}-{check.stage}-{number}"
        async with turns:
            to.begun[name] = check.rule
            await _looked(world, check, kind, name, to)
            if clearing:
                await clear(world, (name,))
            del to.begun[name]

    async with asyncio.TaskGroup() as group:
        for number, (check, kind) in enumerate(looks):
            group.create_task(look(number, check, kind), name=check.rule)


def _looks(subject: Subject, checks: Iterable[Check], to: Verdicts) -> list[tuple[Check, Kind]]:
    found = []
    for check in checks:
        kinds = subject.kinds if check.role == "clusterctl" else subject.of(check.role)
        if unseen := subject.unseen.get(check.role):
            to.not_run[check.rule] = f"there is no example of {', '.join(unseen)}"
        elif not kinds:
            to.not_applicable[check.rule] = f"no kind of {check.role}"
        elif check.role == "clusterctl":
            kinds = sorted(kinds, key=lambda one: one.role not in PARTS)[:1]
        found += [(check, kind) for kind in kinds]
    return found


async def _looked(world: World, check: Check, kind: Kind, name: str, to: Verdicts) -> None:
    """One look in a namespace, which takes what goes wrong with it as its result."""
    try:
        async with asyncio.timeout(world.patience.check):
            # Clouds may name things after clusters: each check has a Cluster of another name.
            cluster = f"{CLUSTER}{name.removeprefix(world.ground.prefix)}"
            scene = await world.scene(kind, name, cluster)
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
