"""Options of `kapy simulate` that cannot work, or would have no effect, are refused at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from kapy.cli.simulate import simulate
from kapy.kube.errors import KapyError
from kapy.testing.simulation import SCENARIOS


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--scenario create --until -1", "--until is -1; give seconds from 0"),
        ("--scenario create --until nan", "--until is nan; give seconds from 0"),
        ("--scenario create --trace FOLDER", "FOLDER is a directory; name a file"),
        ("--scenario create --trace FOLDER/none/x", "there is no such directory"),
        ("--scenario create --every stale --until 1", "has no --trace and no --until"),
        ("--scenario create --every stale --trace -", "has no --trace and no --until"),
        ("--scenario create --sample 2", "--sample and --jobs need --every"),
        ("--scenario create --jobs 2", "--sample and --jobs need --every"),
        ("--scenario create --faults 99999", "give at most 4 digits"),
        ("--scenario create --faults ,", "`none` plays without faults"),
        ("--until 1", "need one --scenario"),
        ("--release FOLDER", "--release and --in-process belong together"),
        ("--in-process a:b", "--release and --in-process belong together"),
        ("--scenario create --manager provider", "--manager provider: there are core, bootstrap"),
    ],
)
def test_options_that_cannot_work_are_refused_before_the_run(
    options: str, message: str, tmp_path: Path
) -> None:
    words = options.replace("FOLDER", str(tmp_path)).split()
    result = CliRunner().invoke(simulate, words)
    assert result.exit_code != 0
    assert message.replace("FOLDER", str(tmp_path)) in result.output


def test_a_fault_that_did_not_happen_is_named() -> None:
    options = "--scenario create --faults crash-after@core:w1,lost-reply@foreign:w2"
    result = CliRunner().invoke(simulate, options.split())
    assert result.output.startswith("ok     create, seed 0: ")
    [line] = [line for line in result.output.splitlines() if "did not happen" in line]
    assert line.startswith("       lost-reply@foreign:w2 did not happen: ")
    assert line.endswith("without faults it has none")


def test_a_search_that_tries_nothing_fails() -> None:
    result = CliRunner().invoke(simulate, ["--scenario", "create", "--every", "hook-down"])
    assert isinstance(result.exception, KapyError)
    assert str(result.exception).startswith("--every hook-down: nothing was tried")


def test_a_run_that_fails_without_a_fault_is_told_and_traced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = replace(SCENARIOS["create"], seconds=0.001)
    monkeypatch.setattr("kapy.testing.simulation.scenarios.scenario_named", lambda _: slow)
    trace = tmp_path / "trace.jsonl"
    options = ["--scenario", "create", "--trace", str(trace)]
    result = CliRunner().invoke(simulate, options, standalone_mode=False)
    assert result.return_value == 1
    assert result.output.startswith("FAILED create, seed 0: no fault\n")
    assert "prompt: create took" in result.output
    assert "Replay: kapy simulate --scenario create --seed 0 --faults none" in result.output
    assert '"what":"violation","rule":"prompt"' in trace.read_text()
