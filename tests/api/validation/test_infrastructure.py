"""Tests of the defaults and of the validation of infrastructure kinds."""

from __future__ import annotations

import pytest

from kapy.api.defaults import default
from kapy.api.features import FeatureGates
from kapy.api.validation import validate
from kapy.kube import Document

INFRA = "infrastructure.cluster.x-k8s.io/v1beta2"
DRY_RUN = {"annotations": {"topology.cluster.x-k8s.io/dry-run": ""}}
UNSORTED = [{"name": "b"}, {"name": "a"}]


def named(kind: str, spec: Document, **metadata: Document) -> Document:
    return {
        "apiVersion": INFRA,
        "kind": kind,
        "metadata": {"name": "one", **metadata},
        "spec": spec,
    }


def template(kind: str, spec: Document, **metadata: Document) -> Document:
    return named(kind, {"template": {"spec": spec}}, **metadata)


def found(document: Document, old: Document | None = None, *, dry_run: bool = False) -> list[str]:
    gates = FeatureGates(cluster_topology=True)
    return [error.field for error in validate(document, old, gates=gates, dry_run=dry_run)]


PORT = {"port": 6443}


@pytest.mark.parametrize(
    ("kind", "spec", "filled"),
    [
        ("DockerCluster", {}, {"controlPlaneEndpoint": PORT, "loadBalancer": {}}),
        ("DockerCluster", {"controlPlaneEndpoint": {"port": 1}}, None),
        (
            "DockerCluster",
            {"controlPlaneEndpoint": PORT, "failureDomains": [{"name": "a"}]},
            {
                "controlPlaneEndpoint": PORT,
                "failureDomains": [{"name": "a", "controlPlane": False}],
                "loadBalancer": {},
            },
        ),
        (
            "DevCluster",
            {"backend": {"docker": {}}},
            {"backend": {"docker": {"loadBalancer": {}}}, "controlPlaneEndpoint": PORT},
        ),
        ("DevCluster", {"backend": {"inMemory": {}}}, None),
        ("DevMachine", {}, {"backend": {"docker": {}}}),
        ("DockerMachine", {}, None),
        ("DockerMachinePool", {}, None),
    ],
)
def test_defaults_are_set_in_objects_and_templates(
    kind: str, spec: Document, filled: Document | None
) -> None:
    expected = spec if filled is None else filled
    assert default(named(kind, spec))["spec"] == expected
    inner = default(template(f"{kind}Template", spec))["spec"]["template"]["spec"]
    assert inner == expected


@pytest.mark.parametrize(
    ("document", "fields"),
    [
        (named("DockerCluster", {"failureDomains": UNSORTED}), ["spec.failureDomains"]),
        (template("DockerClusterTemplate", {"failureDomains": UNSORTED}), ["spec.failureDomains"]),
        (
            named("DevCluster", {"backend": {"docker": {"failureDomains": UNSORTED}}}),
            ["spec.backend.docker.failureDomains"],
        ),
        (named("DockerMachine", {"bootstrapTimeout": "soon"}), ["spec.bootstrapTimeout"]),
        (
            template("DockerMachineTemplate", {"bootstrapTimeout": "soon"}),
            ["spec.template.spec.bootstrapTimeout"],
        ),
        (
            named(
                "DevMachine",
                {
                    "backend": {
                        "docker": {"bootstrapTimeout": "5"},
                        "inMemory": {
                            "vm": {"provisioning": {"startupDuration": "10s"}},
                            "etcd": {"provisioning": {"startupDuration": "ten"}},
                        },
                    }
                },
            ),
            [
                "spec.backend.docker.bootstrapTimeout",
                "spec.backend.inMemory.etcd.provisioning.startupDuration",
            ],
        ),
    ],
)
def test_invalid_fields_are_refused(document: Document, fields: list[str]) -> None:
    assert found(document) == fields


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("DockerMachine", {"customImage": "kind/node"}),
        ("DevMachine", {"backend": {"docker": {"customImage": "kind/node"}}}),
    ],
)
def test_the_image_of_a_machine_is_immutable(kind: str, spec: Document) -> None:
    other: Document = {"backend": {"docker": {}}} if "backend" in spec else {}
    [field] = found(named(kind, other), named(kind, spec))
    assert field.endswith(".customImage")
    assert found(named(kind, spec), named(kind, spec)) == []


@pytest.mark.parametrize("kind", ["DockerMachineTemplate", "DockerClusterTemplate"])
def test_a_template_may_be_rewritten_without_a_change_of_meaning(kind: str) -> None:
    before = template(kind, {})
    assert found(template(kind, {"loadBalancer": {}, "preLoadImages": []}), before) == []
    assert found(
        template(kind, {"controlPlaneEndpoint": {"host": "h"}, "customImage": "i"}), before
    )


def test_a_duration_may_be_rewritten_without_a_change_of_meaning() -> None:
    before = template("DockerMachineTemplate", {"bootstrapTimeout": "5m"})
    after = template("DockerMachineTemplate", {"bootstrapTimeout": "300s"})
    assert found(after, before) == []


def test_the_topology_controller_may_dry_run_forbidden_changes() -> None:
    before = template("DockerMachineTemplate", {})
    after = template("DockerMachineTemplate", {"customImage": "i"}, **DRY_RUN)
    assert found(after, before, dry_run=True) == []
    assert found(after, before) == ["spec.template.spec"]
