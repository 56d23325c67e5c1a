"""Tests of the defaults that are set when an object is created or updated."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kapy.api.defaults import CannotDefault, default
from kapy.kube import Document
from kapy.kube.nested import value_at

CORE = "cluster.x-k8s.io/v1beta2"
INFRA = "infrastructure.cluster.x-k8s.io/v1beta2"
ADDONS = "addons.cluster.x-k8s.io/v1beta2"
RUNTIME = "runtime.cluster.x-k8s.io/v1beta2"
KCP = "controlplane.cluster.x-k8s.io/v1beta2"
MIN = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
MAX = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"


def named(api_version: str, kind: str, spec: Any, **metadata: Any) -> Document:
    metadata = {"name": "one", **metadata}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("document", "path", "expected"),
    [
        (named(CORE, "Machine", {"version": "1.34.0"}), "spec.version", "v1.34.0"),
        (named(CORE, "Machine", {"version": "v1.34.0"}), "spec.version", "v1.34.0"),
        (named(CORE, "Machine", {}), "spec.deletion.nodeDeletionTimeoutSeconds", 10),
        (
            named(CORE, "Machine", {"deletion": {"nodeDeletionTimeoutSeconds": 0}}),
            "spec.deletion.nodeDeletionTimeoutSeconds",
            0,
        ),
        (named(CORE, "MachineDeployment", {}), "spec.replicas", 1),
        (named(CORE, "MachineDeployment", {"replicas": 0}), "spec.replicas", 0),
        (named(CORE, "MachineDeployment", {}), "spec.rollout.strategy.type", "RollingUpdate"),
        (
            named(CORE, "MachineDeployment", {}),
            "spec.rollout.strategy.rollingUpdate",
            {"maxSurge": 1, "maxUnavailable": 0},
        ),
        (
            named(CORE, "MachineDeployment", {"rollout": {"strategy": {"type": "OnDelete"}}}),
            "spec.rollout.strategy.rollingUpdate",
            None,
        ),
        (named(CORE, "MachinePool", {}), "spec.replicas", 1),
        (
            named(CORE, "MachinePool", {}),
            "spec.template.spec.deletion.nodeDeletionTimeoutSeconds",
            10,
        ),
        (named(CORE, "MachineHealthCheck", {}), "spec.checks.nodeStartupTimeoutSeconds", 600),
        (named(ADDONS, "ClusterResourceSet", {"strategy": ""}), "spec.strategy", "ApplyOnce"),
        (named(RUNTIME, "ExtensionConfig", {}), "spec.namespaceSelector", {}),
        (
            named(RUNTIME, "ExtensionConfig", {"clientConfig": {"service": {"name": "a"}}}),
            "spec.clientConfig.service.port",
            443,
        ),
        (named(RUNTIME, "ExtensionConfig", {}), "spec.clientConfig", None),
        (named(KCP, "KubeadmControlPlane", {"version": "1.34.0"}), "spec.version", "v1.34.0"),
        (named(KCP, "KubeadmControlPlane", {}), "spec.replicas", 1),
        (
            named(KCP, "KubeadmControlPlane", {}),
            "spec.rollout.strategy",
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
        ),
        (named(INFRA, "DevCluster", {}), "spec.backend", {"docker": {"loadBalancer": {}}}),
        (named(INFRA, "DevCluster", {}), "spec.controlPlaneEndpoint.port", 6443),
        (
            named(INFRA, "DevCluster", {"backend": {"inMemory": {}}}),
            "spec",
            {"backend": {"inMemory": {}}},
        ),
        (named(INFRA, "DevMachineTemplate", {}), "spec.template.spec.backend", {"docker": {}}),
    ],
)
def test_defaults_are_set(document: Document, path: str, expected: Any) -> None:
    before = deepcopy(document)
    assert value_at(default(document), tuple(path.split("."))) == expected
    assert document == before


def test_a_deployment_selects_the_machines_of_its_template() -> None:
    document = default(named(CORE, "MachineDeployment", {"clusterName": "c"}))
    labels = {"cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/deployment-name": "one"}
    assert document["spec"]["selector"]["matchLabels"] == labels
    assert document["spec"]["template"]["metadata"]["labels"] == labels


def test_a_given_selector_is_left_alone() -> None:
    spec = {"clusterName": "c", "selector": {"matchLabels": {"a": "b"}}}
    selector = default(named(CORE, "MachineDeployment", spec))["spec"]["selector"]
    assert selector["matchLabels"] == {"a": "b", "cluster.x-k8s.io/cluster-name": "c"}


@pytest.mark.parametrize(
    ("before", "expected"), [(None, 3), (1, 3), (4, 4), (9, 7)], ids=["new", "low", "in", "high"]
)
def test_an_autoscaler_keeps_its_number_within_bounds(before: int | None, expected: int) -> None:
    new = named(CORE, "MachineSet", {}, annotations={MIN: "3", MAX: "7"})
    old = None if before is None else named(CORE, "MachineSet", {"replicas": before})
    assert default(new, old)["spec"]["replicas"] == expected


def test_a_bound_that_is_no_number_is_refused() -> None:
    new = named(CORE, "MachineSet", {}, annotations={MIN: "few", MAX: "7"})
    with pytest.raises(CannotDefault, match='"few"'):
        default(new)


@pytest.mark.parametrize("spec", [None, "text", 7, ["list"], {"template": "text"}])
def test_defaulting_leaves_values_of_a_wrong_type_for_the_schema(spec: Any) -> None:
    for kind in ("Machine", "MachineSet", "MachineDeployment"):
        document = default(named(CORE, kind, spec))
        if spec is not None and not isinstance(spec, dict):
            assert document["spec"] == spec


def test_other_kinds_get_no_defaults() -> None:
    document = named("example.com/v1", "Machine", {})
    assert default(document) is document


def test_defaulting_twice_changes_nothing_more() -> None:
    once = default(named(CORE, "MachineDeployment", {"clusterName": "c"}))
    assert default(once) is once
