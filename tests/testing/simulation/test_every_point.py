"""Every fault at every point, by forks, and the command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from kapy.cli.root import run as kapy
from kapy.providers.kubeadm.controlplane import creation
from kapy.testing.simulation import SCENARIOS, baseline_of, exhaustive
from kapy.testing.simulation.campaign import shrunk
from kapy.testing.simulation.forking import Verdict, run_apart
from kapy.testing.simulation.guided import Exploration, Interesting, random_runs, read_corpus
from kapy.testing.simulation.points import Point, parse_faults
from kapy.testing.simulation.rules.rule import Violation
from kapy.testing.simulation.user import User


def few(point: Point, _: str) -> bool:
    return point.number % 180 == 7


@pytest.mark.slow
def test_each_child_process_injects_one_fault() -> None:
    verdicts = exhaustive(
        SCENARIOS["create"], 0, ["crash-after", "lost-reply", "stale"], jobs=2, selects=few
    )
    assert [verdict.violations for verdict in verdicts] == [[]] * len(verdicts)
    faults = [str(verdict.faults[0]) for verdict in verdicts]
    assert {"crash-after@core:w7", "stale@core:e7"} <= set(faults)
    assert faults == sorted(set(faults))


@pytest.mark.slow
def test_a_run_ends_in_a_state_from_which_a_good_run_went_on() -> None:
    create, kinds = SCENARIOS["create"], ["crash-after", "lost-reply"]
    verdicts = exhaustive(create, 0, kinds, selects=few, merges=True)
    assert [verdict.violations for verdict in verdicts] == [[]] * len(verdicts)
    assert any(verdict.is_merged for verdict in verdicts)
    whole = exhaustive(create, 0, kinds, selects=few)
    assert [verdict.faults for verdict in verdicts] == [verdict.faults for verdict in whole]
    assert not any(verdict.is_merged for verdict in whole)


@pytest.mark.slow
@pytest.mark.parametrize("merges", [False, True])
def test_a_planted_bug_is_found_with_and_without_merged_runs(
    monkeypatch: pytest.MonkeyPatch, *, merges: bool
) -> None:
    """A control plane that forgets which name it used makes a second Machine after a crash."""
    counter = iter(range(1000))
    monkeypatch.setattr(creation, "machine_name", lambda _, name, __: f"{name}-{next(counter)}")
    verdicts = exhaustive(
        SCENARIOS["create"],
        0,
        ["crash-after"],
        selects=lambda point, _: point.manager == "control-plane" and point.number < 13,
        merges=merges,
    )
    rules = {violation.rule for verdict in verdicts for violation in verdict.violations}
    assert "no-orphan" in rules


@pytest.mark.slow
def test_random_runs_continue_until_the_time_is_over() -> None:
    (first,) = random_runs(["create"], 3, faults=2, seconds=0.01)
    run, verdict, new = first
    assert (run.scenario, run.seed, len(verdict.faults)) == ("create", 3, 2)
    assert verdict.violations == []
    assert new == len(verdict.pairs) > 0


@pytest.mark.slow
def test_runs_without_new_coverage_are_not_kept() -> None:
    exploration = Exploration(["create"], 0, faults=1)
    run = Interesting("create", 0, parse_faults("broken@core:w3"))
    assert [exploration.try_run(run).new for _ in range(2)] == [1, 0]
    assert exploration.corpus == [run]
    other = run._replace(faults=parse_faults("broken@core:w40"))
    assert exploration.try_run(other).new == 1
    assert read_corpus("\n".join(["# interesting", *map(str, exploration.corpus)])) == [run, other]


@pytest.mark.slow
def test_a_failure_is_reported_with_the_command_that_replays_it() -> None:
    faults = parse_faults("lost-reply@core:w3")
    failure = shrunk(SCENARIOS["create"], 0, Verdict(faults, [Violation("progress", "why", 2.5)]))
    assert failure.rules == ("progress",)
    assert "lost-reply@core:w3 at P" in failure.story
    assert "2.500 s  progress: why" in failure.story
    command = "kapy simulate --scenario create --seed 0 --faults lost-reply@core:w3"
    assert failure.story.endswith(f"Replay: {command}\n")


@pytest.mark.slow
def test_the_command_writes_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.jsonl"
    words = ["simulate", "--scenario", "create", "--faults", "1", "--trace", str(path)]
    assert kapy(words) == 0
    assert capsys.readouterr().out.startswith("ok     create, seed 0: ")
    steps = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    assert [step["step"] for step in steps] == list(range(1, len(steps) + 1))
    assert steps[-1]["time"] >= steps[0]["time"]


def test_the_command_lists_the_existing_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert kapy(["simulate", "--list"]) == 0
    text = capsys.readouterr().out
    for name in ("upgrade-class", "crash-before", "etcd-quorum"):
        assert f"  {name} " in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--scenario", "nonsense"], "there is no scenario 'nonsense'"),
        (["--trace", "-"], "--trace and --until need one --scenario"),
    ],
)
def test_invalid_arguments_are_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kapy(["simulate", *words]) != 0
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own CPU time: on a busy machine it may take long."""

    async def spin(_: User) -> None:
        while True:
            pass

    monkeypatch.setattr("kapy.testing.simulation.forking.LIMIT", 1)
    create = SCENARIOS["create"]
    verdict = run_apart(replace(create, play=spin), 0, (), baseline_of("create", 0))
    assert [str(violation) for violation in verdict.violations] == [
        "no-hot-loop: the run did not end within 1 seconds of CPU"
    ]
