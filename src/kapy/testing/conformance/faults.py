"""The fault tier: the life of an object on bad days, compared with that on a good one.

A bad day has crashes of the provider between writes, lost requests and answers, conflicts, stale
lists, watches that break, and events that come twice; the same seed gives the same day. Afterwards
everything is to be as on the good day: the flags set, nothing made twice, nothing left behind.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kapy._aio.clock import Clock
from kapy._aio.services import running
from kapy.client.kinds import Kinds
from kapy.kube import Document
from kapy.kube.errors import NotFound
from kapy.testing.conformance.behaviour.plots import Broken, Plot, Reached, plot_of
from kapy.testing.conformance.errors import CannotRun, SubjectError
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.following import watched
from kapy.testing.conformance.ground import embedded
from kapy.testing.conformance.heard import Write
from kapy.testing.conformance.scene import Scene, quoted
from kapy.testing.conformance.session import Session
from kapy.testing.conformance.storm import Storm
from kapy.testing.conformance.subject import Kind, Patience, Subject
from kapy.testing.conformance.verdicts import Verdicts

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


@dataclass(frozen=True)
class Course:
    """Whose days, and how they go. light: see `ground.embedded`."""

    subject: Subject
    clock: Clock
    light: bool
    patience: Patience
    session: Session


@dataclass(frozen=True)
class Days:
    """The days of one kind's objects."""

    course: Course
    kind: Kind
    plot: Plot

    async def judge(self, seeds: Sequence[int], to: Verdicts) -> None:
        """Compare bad days with a good one."""
        once = self.plot.once
        good = await self._tried(None, to)
        if good is None:
            return
        if not (good.done and good.gone):
            to.not_run[once] = "not even a day without faults comes to its end"
            return
        for seed in seeds:
            bad = await self._tried(seed, to)
            if bad is not None:
                to.passed[once] += 1
                _compare(self.kind, self.plot, f"with the faults of seed {seed}, ", good, bad, to)

    async def _tried(self, seed: int | None, to: Verdicts) -> Day | None:
        day = "without faults" if seed is None else f"with the faults of seed {seed}"
        try:
            async with asyncio.timeout(self.course.patience.whole):
                return await self._day(seed)
        except* TimeoutError:
            why = f"it took longer than {self.course.patience.whole:g} seconds"
        except* (SubjectError, CannotRun) as errors:
            why = str(errors.exceptions[0])
        to.not_run[self.plot.once] = f"{day}: {why}"
        return None

    async def _day(self, seed: int | None) -> Day:
        course, began = self.course, asyncio.Event()
        subject, network = course.subject, course.subject.way.network
        async with embedded(subject, clock=course.clock, light=course.light) as ground:
            assert ground.server is not None  # it is ours
            storm = Storm(ground.server, seed or 0, network=network)

            async def living() -> None:
                await storm.living(subject, ground, began)

            async with watched(ground, subject, course.patience, course.session) as world:
                try:
                    async with running(provider=living):
                        await began.wait()
                        scene = await world.scene(self.kind, _NAMESPACE)
                        return await _lived(scene, self.plot, storm, raging=seed is not None)
                finally:
                    storm.end()


async def add_faults(course: Course, seeds: Sequence[int], to: Verdicts) -> None:
    """Add what bad days show to the verdicts."""
    for kind in course.subject.kinds:
        plot = plot_of(kind)
        if plot is not None:
            await Days(course, kind, plot).judge(seeds, to)


async def _lived(scene: Scene, plot: Plot, storm: Storm, *, raging: bool) -> Day:
    day = Day()
    if raging:
        storm.rage()
    await plot.begin(scene)
    day.done = await _either(plot.is_reached, scene, storm)
    storm.calm()
    await scene.quiet()
    created = {str(one.key): one for one in scene.writes() if one.created}
    day.made = [one for one in created.values() if not _leaves(await _now(scene, one))]
    day.findings = plot.faults(scene)
    if raging:
        storm.rage()
    await plot.end(scene)
    day.gone = await _either(plot.is_gone, scene, storm)
    storm.calm()
    await scene.quiet()
    created = {str(one.key): one for one in scene.writes() if one.created}
    day.left = [one for one in created.values() if await _now(scene, one) is not None]
    return day


async def _either(reached: Reached, scene: Scene, storm: Storm) -> bool:
    """Whether it comes on a bad day, or at least when that is over."""
    if await reached(scene):
        return True
    storm.calm()
    return await reached(scene)


async def _now(scene: Scene, write: Write) -> Document | None:
    """What was created, if it is there."""
    assert write.after is not None  # it was created
    resource = await Kinds(scene.client).of(write.after)
    try:
        found: Document = await scene.client.get(resource, write.key)
    except NotFound:
        return None
    return found


def _leaves(document: Document | None) -> bool:
    return document is None or "deletionTimestamp" in document["metadata"]


def _compare(kind: Kind, plot: Plot, day: str, good: Day, bad: Day, to: Verdicts) -> None:
    what = kind.resource.kind
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
