"""`kapy conformance run`: what is asked for, what is printed, and the exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from kapy.cli.root import run
from kapy.sdk import Runtime
from tests.testing.conformance.behaviour import release
from tests.testing.conformance.behaviour.mutants import TakesBack
from tests.testing.conformance.behaviour.plain import RESOURCES, Plain

HERE: Final = "tests.cli.test_conformance_run"


def add(runtime: Runtime) -> None:
    for role in RESOURCES:
        Plain(runtime, role)


def add_wrong(runtime: Runtime) -> None:
    """Machines whose flag does not stay, and pools that nobody looks at."""
    Plain(runtime, "infra-cluster")
    TakesBack(runtime, "infra-machine")


def broken(runtime: Runtime) -> None:
    raise ValueError("no cloud")


def judged(folder: Path, *more: str) -> int:
    place = release.write(folder)
    return run(["conformance", "run", str(place), "--variable", "SIZE=3", *more])


def results(message: str) -> Mapping[str, Mapping[str, Any]]:
    result = json.loads(message)["releases"][0]["results"]
    return {item["rule"]: item for item in result}


def test_files_and_behaviour_are_in_one_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = judged(tmp_path, "--in-process", f"{HERE}:add", "-o", "json")
    result = results(capsys.readouterr().out)
    states = {rule: entry["state"] for rule, entry in result.items()}
    assert code == 2  # the release has no Deployment
    assert {key for key, state in states.items() if state == "broken"} == {
        "clusterctl/manager",
        "clusterctl/namespace",
    }
    assert states["infra-machine/crd-name"] == states["infra-machine/finalizer"] == "passed"
    assert states["ipam/watch"] == states["control-plane/kubeconfig"] == "not applicable"


def test_a_faulty_provider_is_reported_with_rule_and_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judged(tmp_path, "--in-process", f"{HERE}:add_wrong") == 2
    text = capsys.readouterr().out
    assert "MUST  infra-machine/initialized" in text
    assert "PlainMachine worker-0: status.initialization.provisioned: it was set and taken" in text
    assert "not run  infra-machinepool/" in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "say how the provider runs"),
        (["--in-process", "a:b", "--", "program"], "say how the provider runs"),
        (["--simulate", "1", "--", "program"], "it needs --in-process"),
        (["--in-process", "nonsense"], "is not MODULE:FUNCTION"),
        (["--in-process", "no.such.module:add"], "cannot be imported"),
        (["--in-process", f"{HERE}:HERE"], "is no function"),
        (["--in-process", f"{HERE}:broken"], "ValueError: no cloud"),
        (["--variable", "x", "--in-process", f"{HERE}:add"], "is not NAME=VALUE"),
        (["--", "/no/such/program"], "cannot be started"),
        (["--", sys.executable, "-c", "raise SystemExit('no cloud')"], 'exit code 1: "no cloud"'),
    ],
)
def test_an_impossible_run_is_explained_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert judged(tmp_path, *arguments) in (1, 2)
    messages = capsys.readouterr()
    assert messages.out == ""
    assert sentence in messages.err
    assert "Traceback" not in messages.err


def test_a_variable_without_a_value_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = release.write(tmp_path)
    code = run(["conformance", "run", str(place), "--in-process", f"{HERE}:add"])
    assert code == 1
    assert "add --variable SIZE=…" in capsys.readouterr().err


def test_faults_are_injected_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judged(tmp_path, "--in-process", f"{HERE}:add", "--faults", "1", "-o", "json")
    result = results(capsys.readouterr().out)
    roles = ("infra-cluster", "infra-machine", "infra-machinepool")
    assert {result[f"{role}/once"]["state"] for role in roles} == {"passed"}


def test_fault_injection_needs_an_embedded_api_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config"
    config.write_text("")
    assert judged(tmp_path, "--kubeconfig", str(config), "--faults", "1") == 1
    assert "--faults needs an API server of its own" in capsys.readouterr().err
