"""Tests of the validation of ClusterClasses, of their changes, and of Clusters that use them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.features import FeatureGates
from kapy.api.validation import validate
from kapy.api.validation.class_use import class_use_errors, in_use_errors
from kapy.api.validation.cluster import version_change_errors
from kapy.kube import Document
from kapy.kube.field_errors import FieldError
from kapy.kube.meta import read
from kapy.kube.patch.json_patch import apply

GROUP = "infrastructure.cluster.x-k8s.io/v1beta2"


def template(kind: str) -> Document:
    return {"templateRef": {"kind": f"{kind}Template", "name": "t", "apiVersion": GROUP}}


CLASS: Document = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "ClusterClass",
    "metadata": {"name": "cc", "namespace": "ns"},
    "spec": {
        "infrastructure": template("DevCluster"),
        "controlPlane": {
            **template("KubeadmControlPlane"),
            "machineInfrastructure": template("DevMachine"),
        },
        "workers": {
            "machineDeployments": [
                {
                    "class": "small",
                    "bootstrap": template("KubeadmConfig"),
                    "infrastructure": template("DevMachine"),
                }
            ]
        },
        "variables": [
            {
                "name": "cpu",
                "required": True,
                "schema": {"openAPIV3Schema": {"type": "integer", "minimum": 1, "default": 2}},
            }
        ],
        "patches": [
            {
                "name": "cpu",
                "enabledIf": "{{ gt .cpu 1.0 }}",
                "definitions": [
                    {
                        "selector": {
                            "apiVersion": GROUP,
                            "kind": "DevMachineTemplate",
                            "matchResources": {"machineDeploymentClass": {"names": ["sm*"]}},
                        },
                        "jsonPatches": [
                            {
                                "op": "add",
                                "path": "/spec/template/spec/cpu",
                                "valueFrom": {"variable": "cpu"},
                            }
                        ],
                    }
                ],
            }
        ],
        "kubernetesVersions": ["v1.33.1", "v1.34.0"],
    },
}
TOPOLOGY: Document = {
    "classRef": {"name": "cc"},
    "version": "v1.33.1",
    "workers": {"machineDeployments": [{"class": "small", "name": "md"}]},
}
CLUSTER: Document = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "Cluster",
    "metadata": {"name": "c", "namespace": "ns"},
    "spec": {"topology": TOPOLOGY},
}


def changed(document: Document, **changes: Any) -> Document:
    """Each change is a path with `__` in the place of `/`."""
    patch = [
        {"op": "add", "path": f"/spec/{path.replace('__', '/')}", "value": value}
        for path, value in changes.items()
    ]
    result: Document = apply(deepcopy(document), patch)
    return result


def named(errors: list[FieldError]) -> list[tuple[str, str]]:
    return [(error.type.removeprefix("FieldValue"), error.field) for error in errors]


def found(document: Document, old: Document | None = None) -> list[tuple[str, str]]:
    return named(validate(document, old, gates=FeatureGates(cluster_topology=True)))


def test_a_valid_class_and_cluster_are_accepted_on_create_and_update() -> None:
    assert found(CLASS) == found(CLASS, CLASS) == []
    assert found(CLUSTER) == found(CLUSTER, CLUSTER) == []


def test_a_class_is_refused_while_the_feature_gate_is_disabled() -> None:
    assert named(validate(CLASS)) == [("Forbidden", "spec")]


PATCH = "patches__0__definitions__0__"
SCHEMA = "spec.variables[cpu].schema.openAPIV3Schema"


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("controlPlane__templateRef__kind", "Plain", "spec.controlPlane.ref.kind"),
        ("infrastructure__naming", {"template": "X"}, "spec.infrastructure.naming.template"),
        ("infrastructure__naming", {"template": "{{ .x"}, "spec.infrastructure.naming.template"),
        ("kubernetesVersions", ["v1.33.0", "v1.35.0"], "spec.kubernetesVersion[1]"),
        ("variables__0__name", "builtin", "spec.variables[builtin].name"),
        ("variables__0__schema__openAPIV3Schema__default", 0, f"{SCHEMA}.default"),
        ("variables__0__schema__openAPIV3Schema__example", "x", f"{SCHEMA}.example"),
        (
            "variables__0__schema__openAPIV3Schema__x-kubernetes-validations",
            [{"rule": "self >"}],
            f"{SCHEMA}.default",  # which is validated before the rules are looked at
        ),
        ("patches__0__enabledIf", "{{ if }}", "spec.patches[0].enabledIf"),
        (
            f"{PATCH}jsonPatches__0__path",
            "/metadata",
            "spec.patches[0].definitions[0].jsonPatches[0].path",
        ),
        (
            f"{PATCH}jsonPatches__0__valueFrom__variable",
            "builtin.nothing",
            "spec.patches[0].definitions[0].jsonPatches[0].valueFrom.variable",
        ),
        (
            f"{PATCH}selector__matchResources__machineDeploymentClass__names",
            ["large"],
            "spec.patches[0].definitions[0].selector.matchResources.machineDeploymentClass.names[0]",
        ),
    ],
)
def test_an_error_of_a_class_names_the_field(path: str, value: Any, field: str) -> None:
    assert [name for _, name in found(changed(CLASS, **{path: value}))][:1] == [field]


def test_templates_keep_their_kind() -> None:
    other = changed(CLASS, infrastructure__templateRef__kind="OtherTemplate")
    assert found(other, CLASS) == [("Forbidden", "spec.infrastructure.templateRef.kind")]
    assert found(changed(CLASS, infrastructure__templateRef__name="other"), CLASS) == []


def test_a_cluster_may_only_use_classes_of_its_cluster_class() -> None:
    cluster = read(
        changed(
            CLUSTER,
            topology__version="v1.32.0",
            topology__workers__machineDeployments__0__class="large",
            topology__controlPlane={"healthCheck": {"enabled": True}},
        ),
        Cluster,
    )
    assert cluster.spec.topology is not None
    assert named(class_use_errors(cluster, cluster.spec.topology, read(CLASS, ClusterClass))) == [
        ("Invalid", "spec.topology.version"),
        ("Invalid", "spec.topology.workers.machineDeployments[0].class"),
        ("Forbidden", "spec.topology.controlPlane.healthCheck.enable"),
    ]


def test_used_parts_of_a_class_cannot_be_removed() -> None:
    new = changed(CLASS, workers={}, kubernetesVersions=["v1.34.0"])
    old, after = read(CLASS, ClusterClass), read(new, ClusterClass)
    assert named(in_use_errors(old, after, [read(CLUSTER, Cluster)])) == [
        ("Forbidden", "spec.kubernetesVersions"),
        ("Forbidden", "spec.workers.machineDeployments"),
    ]
    assert in_use_errors(old, after, []) == []


@pytest.mark.parametrize(
    ("version", "annotations", "ceiling", "unsettled", "refused"),
    [
        ("v1.33.2", {}, True, [], ""),
        ("v1.34.0", {}, True, [], ""),
        ("v1.35.0", {}, True, [], "cannot be increased"),
        ("v1.35.0", {}, False, [], ""),
        ("v1.33.0", {}, False, [], "cannot be decreased"),
        ("v1.34.0", {}, True, ["control plane is busy"], "control plane is busy"),
        (
            "v1.34.0",
            {"runtime.cluster.x-k8s.io/pending-hooks": "AfterClusterUpgrade"},
            True,
            [],
            "hook is still blocking",
        ),
        (
            "v1.30.0",
            {"unsafe.topology.cluster.x-k8s.io/disable-update-version-check": ""},
            True,
            ["busy"],
            "",
        ),
    ],
)
def test_versions_go_up_one_step_at_a_time(
    version: str, annotations: dict[str, str], ceiling: bool, unsettled: list[str], refused: str
) -> None:
    new = read(changed(CLUSTER, topology__version=version), Cluster)
    old = read(CLUSTER, Cluster)
    new.metadata.annotations = annotations
    assert old.spec.topology is not None
    assert new.spec.topology is not None
    errors = version_change_errors(
        new, old.spec.topology, new.spec.topology, ceiling=ceiling, unsettled=unsettled
    )
    assert len(errors) == bool(refused)
    assert all(refused in error.detail for error in errors)
