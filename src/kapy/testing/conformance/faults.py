"""The fault tier: the life of an object on bad days, compared with that on a good one.

A bad day has crashes of the provider between writes, lost requests and answers, conflicts, stale
lists, watches that break, and events that come twice; the same seed gives the same day. Afterwards
everything is to be as on the good day: the flags set, nothing made twice, nothing left behind.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kapy._aio.clock import Clock, loop_clock
from kapy._aio.services import running
from kapy.client.kinds import Kinds
from kapy.kube import Document
from kapy.kube.errors import NotFound
from kapy.testing.conformance.behaviour.plots import Broken, Plot, Reached, plot_of
from kapy.testing.conformance.errors import SubjectError
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.ground import embedded
from kapy.testing.conformance.heard import Write
from kapy.testing.conformance.run import Verdicts, watched
from kapy.testing.conformance.scene import Scene, World, quoted
from kapy.testing.conformance.storm import Storm
from kapy.testing.conformance.subject import REAL, VIRTUAL, Kind, Patience, Subject

_NAMESPACE: Final = "conformance-faults"
_MEND_ONCE: Final = (
    "give what is made a name that can be computed again, and create it only where it is not there"
)


@dataclass
class Day:
    """What became of an object. made: what there was when it was done, left: after its end."""

    done: bool = False
    gone: bool = False
    made: list[Write] = field(default_factory=list)
    left: list[Write] = field(default_factory=list)
    findings: list[Broken] = field(default_factory=list)


async def add_faults(
    subject: Subject,
    seeds: Sequence[int],
    to: Verdicts,
    *,
    clock: Clock | None = None,
    light: bool = False,
    patience: Patience | None = None,
) -> None:
    """Add what bad days show to the verdicts. light: see `ground.embedded`.

    Raises SubjectError where the provider does not start on a good day.
    """
    clock = clock or loop_clock()
    patience = patience or (REAL if subject.way.network else VIRTUAL)
    for kind in subject.kinds:
        plot = plot_of(kind)
        if plot is None:
            continue
        good = await _day(subject, kind, plot, None, clock=clock, light=light, patience=patience)
        if not (good.done and good.gone):
            to.not_run[plot.once] = "it is not even done on a day without faults"
            continue
        for seed in seeds:
            bad = await _bad_day(subject, kind, plot, seed, to, clock, light, patience)
            if bad is not None:
                _compare(kind, plot, seed, good, bad, to)


async def _bad_day(
    subject: Subject,
    kind: Kind,
    plot: Plot,
    seed: int,
    to: Verdicts,
    clock: Clock,
    light: bool,  # noqa: FBT001
    patience: Patience,
) -> Day | None:
    try:
        return await _day(subject, kind, plot, seed, clock=clock, light=light, patience=patience)
    except* SubjectError as errors:
        to.not_run[plot.once] = f"with the faults of seed {seed}: {errors.exceptions[0]}"
    return None


async def _day(
    subject: Subject,
    kind: Kind,
    plot: Plot,
    seed: int | None,
    *,
    clock: Clock,
    light: bool,
    patience: Patience,
) -> Day:
    async with embedded(subject, clock=clock, light=light) as ground:
        assert ground.server is not None  # it is ours
        storm = Storm(ground.server, seed or 0, network=subject.way.network)
        async with watched(ground, subject, patience) as world:
            began = asyncio.Event()

            async def living() -> None:
                await storm.living(subject, ground, began)

            async with running(provider=living):
                await began.wait()
                return await _lived(world, kind, plot, storm, raging=seed is not None)


async def _lived(world: World, kind: Kind, plot: Plot, storm: Storm, *, raging: bool) -> Day:
    scene, day = await world.scene(kind, _NAMESPACE), Day()
    if raging:
        storm.rage()
    await plot.begin(scene)
    day.done = await _either(plot.is_reached, scene, storm)
    storm.calm()
    await scene.quiet()
    created = {str(one.key): one for one in scene.writes() if one.created}
    day.made = await _there(scene, created.values())
    day.findings = plot.faults(scene)
    if raging:
        storm.rage()
    await plot.end(scene)
    day.gone = await _either(plot.is_gone, scene, storm)
    storm.calm()
    await scene.quiet()
    created = {str(one.key): one for one in scene.writes() if one.created}
    day.left = await _there(scene, created.values())
    return day


async def _either(reached: Reached, scene: Scene, storm: Storm) -> bool:
    """Whether it comes on a bad day, or at least when that is over."""
    if await reached(scene):
        return True
    storm.calm()
    return await reached(scene)


async def _there(scene: Scene, writes: Iterable[Write]) -> list[Write]:
    return [one for one in writes if await _is_there(scene, one)]


async def _is_there(scene: Scene, write: Write) -> bool:
    assert write.after is not None  # it was created
    try:
        found: Document = await scene.client.get(
            await Kinds(scene.client).of(write.after), write.key
        )
    except NotFound:
        return False
    return "deletionTimestamp" not in found["metadata"]


def _compare(kind: Kind, plot: Plot, seed: int, good: Day, bad: Day, to: Verdicts) -> None:
    what, day = f"{kind.resource.kind} of the fault tier", f"with the faults of seed {seed}, "
    to.passed[plot.once] += 1
    for rule, found in bad.findings:
        to.findings[rule].append(replace(found, evidence=day + found.evidence))
    if not bad.done:
        mend = "begin where the last try ended: compute again what is there, and what is not"
        evidence = f"{day}it was never done, also when they were over"
        to.findings[plot.done].append(Finding("", what, "", evidence, mend))
        return
    if twice := _more(bad.made, good.made):
        evidence = f"{day}there is more than there should be: {quoted(twice)}"
        to.findings[plot.once].append(Finding("", what, "", evidence, _MEND_ONCE))
    if not bad.gone:
        evidence = f"{day}it was deleted and never went, also when they were over"
        mend = "take what is gone already for freed, then remove the finalizer"
        to.findings[plot.gone].append(Finding("", what, "metadata.finalizers", evidence, mend))
    elif left := _more(bad.left, good.left):
        evidence = f"{day}it is gone, and this is not: {quoted(left)}"
        mend = "find what was made by its name or its label, not by what was noted in a status"
        to.findings[plot.gone].append(Finding("", what, "", evidence, mend))


def _more(bad: list[Write], good: list[Write]) -> list[Write]:
    """The objects of kinds of which there are more."""
    usual, found = Counter(map(_kind, good)), Counter(map(_kind, bad))
    return [one for one in bad if found[_kind(one)] > usual[_kind(one)]]


def _kind(write: Write) -> tuple[str, str]:
    return write.group, write.plural
