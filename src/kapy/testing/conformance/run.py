"""Behavioural conformance: a provider runs, and is judged by what it does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from kapy._aio.clock import Clock, loop_clock
from kapy.kube.errors import KapyError
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.errors import CannotRun, NotApplicable, SubjectError
from kapy.testing.conformance.faults import add_faults
from kapy.testing.conformance.findings import Finding, Report
from kapy.testing.conformance.following import watched
from kapy.testing.conformance.ground import Ground, embedded
from kapy.testing.conformance.rules import RULES
from kapy.testing.conformance.scene import ONLY, World
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
