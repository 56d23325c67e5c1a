"""Try every fault at every point of one run by forking the process at each point.

The run itself goes on undisturbed; each child goes on with one fault, and reports its verdict. So
no beginning is played twice.
"""

from __future__ import annotations

import asyncio
import os
import resource
import select
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from kapy.kube.http import Request
from kapy.testing.simulation.points import FAULT_KINDS, Fault, Point, PointKind
from kapy.testing.simulation.rules.rule import Violation
from kapy.testing.simulation.run import BadSimulation, Baseline, Outcome, run
from kapy.testing.simulation.scenarios import Scenario
from kapy.testing.simulation.states import resting_state
from kapy.testing.simulation.world import World

LIMIT: Final = 120
"""The maximum CPU seconds of a child; a run that takes more does not come to rest. Real seconds
would depend on the other work of a machine."""

EVERY_WRITE: Final = ("crash-before", "crash-after", "lost-reply")
EVERY_EVENT: Final = ("stale",)
_NO_FAULT: Final = Fault("", Point("", PointKind.WRITE.value, 0))
"""The placeholder for the fault of a run without a fault."""


Selects = Callable[[Point, str], bool]
"""Returns whether to try a kind of fault at a point."""


def always(_: Point, __: str) -> bool:
    """Select every kind of fault at every point."""
    return True


def in_rotation(kinds: Sequence[str], share: int = 1) -> Selects:
    """Return a selection of one of the kinds at one point in `share`, in turn."""
    return lambda point, kind: (
        point.number % share == share // 2 and kinds[point.number // share % len(kinds)] == kind
    )


@dataclass(slots=True)
class Verdict:
    """The violations of a run with some faults. pairs: the pairs of a fault and the state of the
    controllers in which it happened. states: the states in which the run was at rest, without
    further writes. is_merged: whether the run ended in such a state of a good run. baseline: the
    undisturbed run, if a child has played it."""

    faults: tuple[Fault, ...]
    violations: list[Violation]
    pairs: frozenset[str] = frozenset()
    states: frozenset[bytes] = frozenset()
    is_merged: bool = False
    baseline: Baseline | None = None


@dataclass(slots=True)
class _Child:
    pid: int
    fault: Fault
    content: bytearray = field(default_factory=bytearray)


class Forks:
    """Decides on no fault in the parent, and on one fault in each child.

    kinds: the fault kinds to try. jobs: the number of children at a time. selects: selects the
    faults to try. known: the states of good runs; a child ends in such a state.
    """

    def __init__(
        self,
        kinds: Sequence[str],
        jobs: int,
        selects: Selects,
        on_verdict: Callable[[Verdict], None],
    ) -> None:
        self._kinds = [FAULT_KINDS[name] for name in kinds]
        self._jobs = jobs
        self._selects = selects
        self._on_verdict = on_verdict
        self._children: dict[int, _Child] = {}
        self.known: set[bytes] = set()
        self._visited: set[bytes] = set()
        self.pipe: int | None = None
        self.fault: Fault | None = None

    @property
    def is_child(self) -> bool:
        """Return whether this process is a child, which plays one fault."""
        return self.pipe is not None

    def __call__(self, point: Point, _: Request | None) -> Fault | None:
        if self.is_child:
            return None
        for kind in self._kinds:
            if point.kind not in kind.points or not self._selects(point, kind.name):
                continue
            if self._fork(Fault(kind.name, point)):
                return self.fault
        return None

    def _fork(self, fault: Fault) -> bool:
        """Fork this process for a fault; return True in the child."""
        while len(self._children) >= self._jobs:
            self._collect()
        reader, writer = os.pipe()
        loop = asyncio._get_running_loop()
        pid = os.fork()
        if pid:
            os.close(writer)
            self._children[reader] = _Child(pid, fault)
            return False
        # asyncio takes the parent's running loop for one of this process.
        asyncio._set_running_loop(loop)
        _limit_work()
        os.close(reader)
        for other in self._children:
            os.close(other)
        self._children.clear()
        self.pipe, self.fault = writer, fault
        return True

    def on_rest(self, world: World) -> None:
        """End a child in a state that a good run has reached."""
        if not self.is_child:
            return
        fault = None if self.fault == _NO_FAULT else self.fault
        state = resting_state(world, fault)
        if state is None:
            return
        if state in self.known:
            self.leave((), world.network.pairs, is_merged=True)
        self._visited.add(state)

    def play_baseline(self) -> Baseline | None:
        """Let a child play the undisturbed run from here; return its end, None in the child.
        Raises BadSimulation if it breaks a rule."""
        verdicts: list[Verdict] = []
        on_verdict, self._on_verdict = self._on_verdict, verdicts.append
        if self._fork(_NO_FAULT):
            return None
        self.wait()
        self._on_verdict = on_verdict
        [verdict] = verdicts
        if verdict.violations or verdict.baseline is None:
            raise BadSimulation(_failure_of(verdict.violations))
        return verdict.baseline

    def leave(
        self,
        violations: Sequence[Violation],
        pairs: Iterable[str] = (),
        *,
        is_merged: bool = False,
        baseline: Baseline | None = None,
    ) -> None:
        """Report the verdict of this child, and end it."""
        assert self.pipe is not None
        states = [] if violations else [state.hex() for state in self._visited]
        rows = [(violation.rule, violation.text, violation.time) for violation in violations]
        end = None if baseline is None or self.fault != _NO_FAULT else _encode(baseline)
        content = msgspec.json.encode([rows, sorted(pairs), states, is_merged, end])
        while content:
            content = content[os.write(self.pipe, content) :]
        os._exit(0)

    def wait(self) -> None:
        """Wait for the end of all children."""
        while self._children:
            self._collect()

    def _collect(self) -> None:
        ready, _, _ = select.select(list(self._children), [], [])
        for reader in ready:
            part = os.read(reader, 1 << 16)
            if part:
                self._children[reader].content += part
            else:
                self._finish(reader)

    def _finish(self, reader: int) -> None:
        child = self._children.pop(reader)
        os.close(reader)
        _, status = os.waitpid(child.pid, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
            text = f"the run did not end within {LIMIT} seconds of CPU"
            self._on_verdict(Verdict((child.fault,), [Violation("no-hot-loop", text)]))
        else:
            verdict = self._verdict(child)
            self.known |= verdict.states
            self._on_verdict(verdict)

    @staticmethod
    def _verdict(child: _Child) -> Verdict:
        try:
            content = msgspec.json.decode(bytes(child.content))
        except msgspec.DecodeError:
            lost = Violation("no-failure", "the run ended without a verdict")
            return Verdict((child.fault,), [lost])
        violations, pairs, states, is_merged, end = content
        return Verdict(
            (child.fault,),
            [Violation(*row) for row in violations],
            frozenset(pairs),
            frozenset(map(bytes.fromhex, states)),
            is_merged,
            None if end is None else _decode(end),
        )


def _failure_of(violations: Sequence[Violation]) -> str:
    return f"the scenario fails without a fault: {'; '.join(map(str, violations))}"


def _encode(baseline: Baseline) -> Sequence[Any]:
    points = [(*point, count) for point, count in baseline.points.items()]
    return baseline.end, baseline.work, baseline.cloud, points


def _decode(content: Sequence[Any]) -> Baseline:
    end, work, cloud, points = content
    counts = {(manager, letter): count for manager, letter, count in points}
    return Baseline(Counter(end), work, cloud, counts)


def _limit_work() -> None:
    """Let the kernel end this process with SIGXCPU after LIMIT seconds of CPU."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, most))


def explore(
    scenario: Scenario,
    seed: int,
    kinds: Sequence[str],
    baseline: Baseline | None = None,
    *,
    jobs: int = 1,
    selects: Selects = always,
    merges: bool = False,
) -> list[Verdict]:
    """Try every kind of fault at every selected point; return the verdicts in a fixed order.

    baseline: the undisturbed run; without it, it is played from the start of the scenario. merges:
    whether to end a run in a state that a good run has reached, too. Raises BadSimulation if the
    scenario breaks a rule without a fault.
    """
    verdicts: list[Verdict] = []
    forks = Forks(kinds, jobs, selects, verdicts.append)

    def after(outcome: Outcome) -> None:
        if forks.is_child:
            forks.leave(outcome.violations, outcome.pairs, baseline=outcome.baseline)

    try:
        outcome = run(
            scenario,
            seed,
            baseline=baseline,
            decide=forks,
            after=after,
            on_rest=forks.on_rest if merges else None,
            on_begin=forks.play_baseline if baseline is None else lambda: baseline,
        )
    except BaseException as error:
        if forks.is_child:
            forks.leave([Violation("no-failure", f"the run failed: {error!r}")])
        raise
    forks.wait()
    if baseline is None and not outcome.is_good:
        raise BadSimulation(_failure_of(outcome.violations))
    return sorted(verdicts, key=lambda verdict: str(verdict.faults[0]))


def run_apart(
    scenario: Scenario, seed: int, faults: Sequence[Fault], baseline: Baseline
) -> Verdict:
    """Play a run with some faults in a child, so that it leaves no state in this process."""
    verdicts: list[Verdict] = []
    forks = Forks((), 1, always, verdicts.append)
    if forks._fork(faults[0] if faults else _NO_FAULT):
        try:
            outcome = run(scenario, seed, faults, baseline=baseline)
        except BaseException as error:
            forks.leave([Violation("no-failure", f"the run failed: {error!r}")])
        else:
            forks.leave(outcome.violations, outcome.pairs)
    forks.wait()
    return Verdict(tuple(faults), verdicts[0].violations, verdicts[0].pairs)
