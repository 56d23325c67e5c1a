"""Tests of the validation of objects and of their changes."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kapy.api.features import FeatureGates
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.validation import validate
from kapy.api.validation.kubeadm_control_plane import scale_problem
from kapy.kube import Document
from kapy.kube.meta import read
from kapy.kube.patch.merge_patch import apply

REF = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate", "name": "t"}
CORE = "cluster.x-k8s.io/v1beta2"


def named(api_version: str, kind: str, spec: Document) -> Document:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "one"}, "spec": spec}


CLUSTER = named(CORE, "Cluster", {"infrastructureRef": REF, "controlPlaneRef": REF})
KCP = named(
    "controlplane.cluster.x-k8s.io/v1beta2",
    "KubeadmControlPlane",
    {"replicas": 3, "version": "v1.34.0", "machineTemplate": {"spec": {"infrastructureRef": REF}}},
)
CONFIG = named("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", {})
TEMPLATE = named(
    "infrastructure.cluster.x-k8s.io/v1beta2",
    "DevMachineTemplate",
    {"template": {"spec": {"backend": {"inMemory": {}}}}},
)


def found(document: Document, old: Document | None = None, **gates: bool) -> list[tuple[str, str]]:
    errors = validate(document, old, gates=FeatureGates(**gates))
    return [(error.type.removeprefix("FieldValue"), error.field) for error in errors]


@pytest.mark.parametrize(
    "document", [CLUSTER, KCP, CONFIG, TEMPLATE], ids=lambda value: value["kind"]
)
def test_a_valid_object_is_accepted_on_create_and_update(document: Document) -> None:
    assert found(document) == []
    assert found(document, deepcopy(document)) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"metadata": {"name": "x" * 64}}, [("Invalid", "metadata.name")]),
        ({"spec": {"infrastructureRef": None}}, [("Forbidden", "spec.infrastructureRef")]),
        (
            {"spec": {"clusterNetwork": {"pods": {"cidrBlocks": ["10.0.0.0/16", "10.1"]}}}},
            [("Invalid", "spec.clusterNetwork.pods.cidrBlocks[1]")],
        ),
        (
            {"spec": {"topology": {"classRef": {"name": "c"}, "version": "v1.34.0"}}},
            [("Forbidden", "spec.topology")],
        ),
    ],
)
def test_errors_of_a_cluster_name_field_and_reason(change: Document, expected: list[Any]) -> None:
    assert found(apply(CLUSTER, change), CLUSTER) == expected


def test_a_cluster_needs_a_topology_or_references() -> None:
    assert found(named(CORE, "Cluster", {"paused": True})) == [("Forbidden", "spec")]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"replicas": 1}, []),
        ({"replicas": 2}, [("Forbidden", "spec.replicas")]),
        ({"replicas": 0}, [("Forbidden", "spec.replicas")] * 2),
        ({"version": "v1.35.1"}, []),
        ({"version": "v1.36.0"}, [("Forbidden", "spec.version")]),
        ({"version": "1.35.1"}, [("Invalid", "spec.version")]),
        ({"kubeadmConfigSpec": {"files": [{"path": "/etc/motd", "content": "hi"}]}}, []),
        ({"machineTemplate": {"metadata": {"labels": {"a": "b"}}}}, []),
        (
            {"kubeadmConfigSpec": {"clusterConfiguration": {"certificatesDir": "/x"}}},
            [("Forbidden", "spec.kubeadmConfigSpec.clusterConfiguration.certificatesDir")],
        ),
    ],
)
def test_immutable_fields_of_a_control_plane_cannot_change(
    change: Document, expected: list[Any]
) -> None:
    assert found(apply(KCP, {"spec": change}), KCP) == expected


@pytest.mark.parametrize(
    ("replicas", "external", "good"),
    [(3, False, True), (2, False, False), (0, False, False), (2, True, True), (-1, True, False)],
)
def test_invalid_numbers_of_replicas_are_refused(
    *, replicas: int, external: bool, good: bool
) -> None:
    etcd = {"endpoints": ["e"], "caFile": "a", "certFile": "b", "keyFile": "c"}
    config = {"clusterConfiguration": {"etcd": {"external": etcd}}} if external else {}
    change = {"spec": {"replicas": replicas, "kubeadmConfigSpec": config}}
    kcp = read(apply(KCP, change), KubeadmControlPlane)
    assert (scale_problem(kcp) == "") is good


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("v1.11.1", "v1.12.1", []),
        ("v1.12.1", "v1.11.1", ["spec.kubeadmConfigSpec.clusterConfiguration.dns.imageTag"]),
    ],
)
def test_coredns_is_upgraded_and_never_downgraded(
    before: str, after: str, expected: list[str]
) -> None:
    def tagged(tag: str) -> Document:
        config = {"clusterConfiguration": {"dns": {"imageTag": tag}}}
        patched: Document = apply(KCP, {"spec": {"kubeadmConfigSpec": config}})
        return patched

    assert [field for _, field in found(tagged(after), tagged(before))] == expected


def test_an_error_of_a_changed_template_names_the_changed_fields() -> None:
    change: Document = {
        "spec": {"template": {"spec": {"backend": {"inMemory": None, "docker": {}}}}}
    }
    (error,) = validate(apply(TEMPLATE, change), TEMPLATE)
    assert error.field == "spec.template.spec"
    assert "backend.docker, backend.inMemory" in error.detail


def test_labels_of_a_template_may_change() -> None:
    change = {"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}
    assert found(apply(TEMPLATE, change), TEMPLATE) == []


def test_an_error_never_repeats_possible_secrets() -> None:
    secret = {"secret": {"name": "s", "key": "k"}}
    files = [{"path": "/a", "content": "hunter2", "contentFrom": secret}]
    users = [{"name": "u", "passwd": "hunter2", "passwdFrom": secret}]
    errors = validate(apply(CONFIG, {"spec": {"files": files, "users": users}}))
    assert [error.field for error in errors] == ["spec.files[0]", "spec.users[0]"]
    assert "hunter2" not in " ".join(map(str, errors))


def test_a_feature_gate_enables_its_fields() -> None:
    ignition = apply(CONFIG, {"spec": {"format": "ignition"}})
    assert found(ignition) == [("Forbidden", "spec.format")]
    assert found(ignition, kubeadm_bootstrap_format_ignition=True) == []


def test_other_kinds_are_not_validated() -> None:
    assert validate(named("example.com/v1", "Cluster", {})) == []
