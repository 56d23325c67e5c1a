"""A run is decided by its seed, and its rules find what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kapy.providers.kubeadm.controlplane import creation
from kapy.testing.simulation import SCENARIOS, BadSimulation, baseline_of, parse_faults, play, run
from kapy.testing.simulation.points import FAULT_KINDS, Fault, Point, PointKind
from kapy.testing.simulation.trace import line_of

CREATE = SCENARIOS["create"]
SCRIPT = """
import sys
from kapy.testing.simulation import SCENARIOS, parse_faults, run
from kapy.testing.simulation.trace import line_of
outcome = run(SCENARIOS["create"], 5, parse_faults("crash-after@core:w20"))
sys.stdout.buffer.write(b"".join(map(line_of, outcome.steps)))
"""


@pytest.mark.slow
def test_the_trace_is_the_same_in_every_process() -> None:
    """Byte for byte, whatever the order of sets is there."""
    outcome = run(CREATE, 5, parse_faults("crash-after@core:w20"))
    here = b"".join(map(line_of, outcome.steps))
    other = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    there = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PYTHONHASHSEED": other},
        capture_output=True,
        check=True,
    ).stdout
    assert here == there
    assert b'"what":"fault"' in here


def test_another_seed_gives_another_trace() -> None:
    def trace(seed: int) -> bytes:
        return b"".join(map(line_of, run(CREATE, seed).steps))

    assert trace(1) != trace(2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(FAULT_KINDS))
def test_a_cluster_becomes_available_despite_a_fault(kind: str) -> None:
    """Each kind of fault in the middle of the points where it may happen."""
    scenario = SCENARIOS["hooks-create" if PointKind.HOOK in FAULT_KINDS[kind].points else "create"]
    points = baseline_of(scenario.name, 0).points
    letters = {point_kind.value for point_kind in FAULT_KINDS[kind].points}
    manager, letter = max(
        (point for point in points if point[1] in letters), key=lambda point: (points[point], point)
    )
    fault = Fault(kind, Point(manager, letter, points[manager, letter] // 2 + 1))
    outcome = play(scenario, 0, [fault])
    assert outcome.violations == []
    assert [step["point"] for step in outcome.steps if step["what"] == "fault"] == [
        str(fault.point)
    ]
    assert PointKind(letter) in FAULT_KINDS[kind].points


def test_a_planted_bug_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A control plane that forgets which name it used makes a second Machine after a crash."""
    counter = iter(range(1000))

    def name_of(kcp: object, cluster: str, slot: object) -> str:
        return f"{cluster}-{next(counter)}"

    monkeypatch.setattr(creation, "machine_name", name_of)
    rules = set[str]()
    for number in (9, 10):
        outcome = play(CREATE, 0, parse_faults(f"crash-after@control-plane:w{number}"))
        rules |= {violation.rule for violation in outcome.violations}
    assert "no-orphan" in rules


def test_a_rule_that_fails_itself_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kapy.testing.simulation.rules.machines._minor", None)
    [violation] = run(CREATE, 0).violations
    assert violation.rule == "no-failure"
    assert "the rule version-skew failed: TypeError" in violation.text


def test_a_scenario_that_fails_by_itself_is_no_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(creation, "create_machine", None)
    monkeypatch.setattr("kapy.testing.simulation.user.PATIENCE", 30.0)
    monkeypatch.setattr("kapy.providers.kubeadm.controlplane.loop.create_machine", None)
    with pytest.raises(BadSimulation, match="fails without a fault"):
        baseline_of("create", 99)
