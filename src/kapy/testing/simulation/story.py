"""The report about a failing run: its writes, its faults, the differences, and the command that
replays it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kapy.kube import Document
from kapy.testing.simulation.points import FAULT_KINDS, Fault, format_faults
from kapy.testing.simulation.rules.rule import Violation

MOST: Final = 12
"""The maximum number of violations in a report."""


def story_of(
    scenario: str,
    seed: int,
    faults: Sequence[Fault],
    violations: Sequence[Violation],
    steps: Sequence[Document],
    options: str = "",
) -> str:
    """Return the report about a failing run as text. steps: the trace of the run. options: further
    options of the command that replays it.
    """
    lines = _lines(scenario, seed, faults, violations, steps)
    return "\n".join([*lines, f"Replay: {replay_command(scenario, seed, faults, options)}"]) + "\n"


def replay_command(scenario: str, seed: int, faults: Sequence[Fault], options: str = "") -> str:
    """Return the command that plays a run again."""
    command = f"kapy simulate{options} --scenario {scenario} --seed {seed}"
    return f"{command} --faults {format_faults(faults) or 'none'}"


def _lines(
    scenario: str,
    seed: int,
    faults: Sequence[Fault],
    violations: Sequence[Violation],
    steps: Sequence[Document],
) -> Iterator[str]:
    yield f"Scenario {scenario}, seed {seed}:"
    happened = {step["point"]: step for step in steps if step["what"] == "fault"}
    for fault in faults:
        step = happened.get(str(fault.point))
        text = FAULT_KINDS[fault.kind].text
        if step is None:
            yield f"  {fault} was not reached"
            continue
        request = f" at {step['request']}" if step["request"] else ""
        yield f"  {step['time']:9.3f} s  step {step['step']:<5} {fault}{request}: {text}"
    yield "Broken rules:"
    for violation in violations[:MOST]:
        yield f"  {violation.time:9.3f} s  {violation}"
    if len(violations) > MOST:
        yield f"  … and {len(violations) - MOST} more"
