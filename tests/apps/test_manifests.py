"""Objects from YAML: what is no object is said with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kapy.apps.cluster_progress import ClusterProgress
from kapy.apps.manifests import (
    BadManifest,
    MissingClass,
    read_file,
    read_manifests,
    require_classes,
    sample,
)
from kapy.client.client import Client
from kapy.kube import Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.http import Reply, Request
from tests.oracle.recorded import SAMPLES


def test_the_sample_is_one_cluster_with_a_control_plane_and_two_workers() -> None:
    replicas = {document["kind"]: document["spec"].get("replicas") for document in sample()}
    assert replicas["KubeadmControlPlane"] == 1
    assert replicas["MachineDeployment"] == 2
    assert sum(document["kind"] == "Cluster" for document in sample()) == 1
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
def test_text_without_a_manifest_is_reported(text: str, sentence: str) -> None:
    with pytest.raises(KapyError, match=sentence):
        read_manifests(text, "x.yaml")


def test_a_list_is_read_as_its_items() -> None:
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    text = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [item, item]})
    assert read_manifests(text, "x.yaml") == [item, item]


CLASS = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "ClusterClass",
    "metadata": {"name": "meadow", "namespace": "fleet"},
}


@pytest.mark.parametrize(
    ("version", "topology"),
    [
        ("v1beta2", {"classRef": {"name": "meadow"}}),
        ("v1beta2", {"classRef": {"name": "meadow", "namespace": "fleet"}}),
        ("v1beta1", {"class": "meadow"}),
        ("v1beta1", {"class": "meadow", "classNamespace": "fleet"}),
    ],
)
async def test_a_cluster_needs_its_class_before_it_is_waited_for(
    version: str, topology: dict[str, Any]
) -> None:
    async def nothing(request: Request) -> Reply:
        raise NotFound(request.path)

    cluster = {
        "apiVersion": f"cluster.x-k8s.io/{version}",
        "kind": "Cluster",
        "metadata": {"name": "herd", "namespace": "fleet"},
        "spec": {"topology": topology},
    }
    client = Client(nothing)
    await require_classes(client, [cluster, CLASS])
    with pytest.raises(MissingClass, match=r"fleet/herd is made of ClusterClass fleet/meadow,"):
        await require_classes(client, [cluster])


def test_a_reason_that_several_conditions_give_is_reported_once() -> None:
    reasons = {"InfrastructureReady": "no class", "RemoteConnectionProbe": "not yet"}
    reasons["TopologyReconciled"] = "no class"
    message = "\n".join(f"* {name}: {reason}" for name, reason in reasons.items())
    available = {"type": "Available", "status": "False", "message": message}
    document = {"metadata": {"name": "a"}, "status": {"conditions": [available]}}
    assert ClusterProgress(Key("default", "a"), document).reason() == (
        "cluster default/a is not Available: InfrastructureReady, TopologyReconciled: no class; "
        "RemoteConnectionProbe: not yet"
    )


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BadManifest, match="No such file"):
        read_file(tmp_path / "nothing.yaml")
