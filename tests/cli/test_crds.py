"""`kapy crds`: definitions for any Kubernetes."""

from __future__ import annotations

import json

import pytest
import yaml

from kapy.api.crds import crds
from kapy.cli.root import run


def test_all_definitions_are_printed_as_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["crds"]) == 0
    printed = list(yaml.load_all(capsys.readouterr().out, Loader=yaml.CSafeLoader))
    assert [item["metadata"]["name"] for item in printed] == [
        crd["metadata"]["name"] for crd in crds()
    ]
    assert all(item["spec"]["conversion"]["strategy"] == "Webhook" for item in printed)


@pytest.mark.parametrize("name", ["ma", "Machine", "machines", "machines.cluster.x-k8s.io"])
def test_a_definition_is_found_by_any_of_its_names(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["crds", name, "-o", "name"]) == 0
    assert capsys.readouterr().out == "machines.cluster.x-k8s.io\n"


def test_crds_without_older_versions_have_no_conversion(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["crds", "machine", "--stored-only", "-o", "json"]) == 0
    (crd,) = json.loads(capsys.readouterr().out)["items"]
    assert [version["name"] for version in crd["spec"]["versions"]] == ["v1beta2"]
    assert "conversion" not in crd["spec"]


def test_an_unknown_name_is_refused_with_the_known_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["crds", "machnes"]) == 1
    err = capsys.readouterr().err
    assert "machnes" in err
    assert "MachineDeployment" in err
