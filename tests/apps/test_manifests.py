"""Objects from YAML: what is no object is said with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kapy.apps.manifests import BadManifest, read_file, read_manifests, sample
from kapy.kube.errors import KapyError
from tests.oracle.recorded import SAMPLES


def test_the_sample_is_one_cluster_with_a_control_plane_and_two_workers() -> None:
    replicas = {one["kind"]: one["spec"].get("replicas") for one in sample()}
    assert replicas["KubeadmControlPlane"] == 1
    assert replicas["MachineDeployment"] == 2
    assert sum(one["kind"] == "Cluster" for one in sample()) == 1
    recorded = SAMPLES / "samples" / "in-memory-cluster.yaml"
    assert sample() == list(yaml.safe_load_all(recorded.read_text()))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [", "x.yaml: line 2"),
        ("", "x.yaml holds no objects"),
        ("just words", "x.yaml: document 1 is not an object"),
        ("kind: Cluster\nmetadata: {name: a}", "x.yaml: document 1 has no apiVersion"),
        ("apiVersion: v1\nmetadata: {name: a}", "x.yaml: document 1 has no kind"),
        ("apiVersion: v1\nkind: ConfigMap", r"document 1 \(ConfigMap\) has no metadata.name"),
    ],
)
def test_what_is_no_object_is_said(text: str, sentence: str) -> None:
    with pytest.raises(KapyError, match=sentence):
        read_manifests(text, "x.yaml")


def test_a_list_is_its_items() -> None:
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    text = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [item, item]})
    assert read_manifests(text, "x.yaml") == [item, item]


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadManifest, match="No such file"):
        read_file(tmp_path / "nothing.yaml")
