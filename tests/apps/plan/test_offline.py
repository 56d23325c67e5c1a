"""Plans from files alone, as a command says them."""

from __future__ import annotations

import json
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from kapy.cli.root import run
from kapy.kube import Document
from kapy.kube.yaml import dump_all, load
from tests.apps.plan.planning import sample, the


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """`class.yaml` and `cluster.yaml`."""
    documents = sample()
    write(
        tmp_path / "class.yaml",
        [document for document in documents if document["kind"] != "Cluster"],
    )
    write(tmp_path / "cluster.yaml", [the(documents, "Cluster")])
    return tmp_path


def write(path: Path, documents: list[Document]) -> Path:
    path.write_text(dump_all(documents))
    return path


def planned(
    capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 2
) -> dict[str, Any]:
    assert run(["plan", "--offline", "-o", "json", *map(str, arguments)]) == code
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_a_new_cluster_is_reported_object_by_object(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = planned(capsys, "-f", files)
    (stage,) = document["stages"]
    entries = [(change["verb"], change["kind"]) for change in stage["changes"]]
    assert (
        entries.count(("create", "DevMachineTemplate")) == 4
    )  # two of the class, two of the cluster
    assert ("create", "MachineHealthCheck") in entries
    assert [(rollout["kind"], rollout["creates"]) for rollout in stage["rollouts"]] == [
        ("KubeadmControlPlane", 1),
        ("MachineDeployment", 2),
    ]
    (template,) = (
        change
        for change in stage["changes"]
        if change["kind"] == "KubeadmConfigTemplate" and change["name"].startswith("capybara-herd")
    )
    assert template["patches"]["/spec/template/spec/joinConfiguration"].startswith(
        "patch nodeLabels definitions[0], template"
    )


def test_a_class_that_is_there_already_is_not_created(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("-f", files / "cluster.yaml", "--current", files / "class.yaml")
    (stage,) = planned(capsys, *arguments)["stages"]
    assert "ClusterClass" not in [change["kind"] for change in stage["changes"]]


def test_an_empty_plan_exits_with_0(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = files / "class.yaml"
    assert run(["plan", "--offline", "-f", str(path), "--current", str(path)]) == 0
    assert "Nothing to do" in capsys.readouterr().out


@pytest.mark.parametrize("output", ["text", "yaml"])
def test_a_plan_is_printed_as_text_or_json(
    output: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", "--offline", "-f", str(files), "-o", output]) == 2
    out = capsys.readouterr().out
    if output == "yaml":
        assert load(out)["summary"]["machinesCreated"] == 3
    else:
        assert "+ create Cluster default/capybara-herd" in out
        assert out.endswith("Machines: 3 to create, 0 of them in place of others, 0 to delete.\n")


def topology(**parts: Any) -> Any:
    def change(documents: list[Document]) -> None:
        cluster = next(document for document in documents if document["kind"] == "Cluster")
        cluster["spec"]["topology"] |= parts

    return change


def patched(path: str) -> Any:
    def change(documents: list[Document]) -> None:
        classes = next(document for document in documents if document["kind"] == "ClusterClass")
        classes["spec"]["patches"][0]["definitions"][0]["jsonPatches"][0]["path"] = path

    return change


def without(kind: str, name: str) -> Any:
    def change(documents: list[Document]) -> None:
        documents[:] = [
            document
            for document in documents
            if (document["kind"], document["metadata"]["name"]) != (kind, name)
        ]

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (topology(classRef={"name": "nothing"}), ["ClusterClass default/nothing", "not found"]),
        (without("DevMachineTemplate", "meadow-grazer"), ["DevMachineTemplate", "meadow-grazer"]),
        (patched("/spec/nowhere/x"), ["startup", "meadow", "/spec/nowhere/x"]),
    ],
    ids=["no class", "no template", "a patch that does not apply"],
)
def test_an_impossible_plan_reports_a_problem_and_fails(
    change: Any, said: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = deepcopy(sample())
    change(documents)
    path = write(tmp_path / "all.yaml", documents)
    document = planned(capsys, "-f", path, code=1)
    messages = " ".join(problem["message"] for problem in document["problems"])
    assert all(word in messages for word in said), messages
    kinds = [item["kind"] for stage in document["stages"] for item in stage["changes"]]
    assert "KubeadmControlPlane" not in kinds, "nothing is half-applied"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            topology(variables=[{"name": "startup", "value": {"vm": "soon"}}]),
            "spec.topology.variables[startup].value.vm",
        ),
        (topology(version="latest"), "spec.topology.version"),
        (topology(workers={"machineDeployments": [{"class": "x", "name": "a"}]}), "class"),
    ],
    ids=["a variable against its schema", "no version", "a class of workers that is not there"],
)
def test_a_refusal_by_the_api_server_is_one_sentence(
    change: Any, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = deepcopy(sample())
    change(documents)
    path = write(tmp_path / "all.yaml", documents)
    assert run(["plan", "--offline", "-f", str(path)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"Error: Cluster default/capybara-herd ({path}) would be refused: ")
    assert said in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-f", "nothing.yaml"], "cannot read nothing.yaml"),
        ([], "Missing option"),
        (["-f", "x", "-o", "table"], "table"),
    ],
)
def test_bad_arguments_are_reported(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", "--offline", *arguments]) == 1
    assert said in capsys.readouterr().err


def test_a_kind_without_its_definition_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    thing = {"apiVersion": "a.example.com/v1", "kind": "Thing", "metadata": {"name": "x"}}
    path = write(tmp_path / "thing.yaml", [thing])
    assert run(["plan", "--offline", "-f", str(path)]) == 1
    err = capsys.readouterr().err
    assert 'no kind "Thing" in a.example.com/v1' in err
    assert "give its file, too" in err


def test_a_summary_has_one_line(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--offline", "--summary", "-f", str(files)]) == 2
    out = capsys.readouterr().out
    assert out.startswith("Plan: ")
    assert out.count("\n") == 1


def test_a_file_is_read_before_the_management_cluster_is_searched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    (tmp_path / "bad.yaml").write_text("a: [\n")
    assert run(["plan", "-f", str(tmp_path / "bad.yaml")]) == 1
    assert "bad.yaml: line 2" in capsys.readouterr().err


@pytest.mark.parametrize("terminal", [True, False])
def test_a_plan_shows_progress_on_a_terminal_only(
    files: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    terminal: bool,
) -> None:
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda _: terminal, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert run(["plan", "--offline", "-f", str(files)]) == 2
    assert ("planning" in capsys.readouterr().err) == terminal
