"""Validation of pools, health checks, drain rules, addons, addresses and extensions."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final

import pytest

from kapy.api.features import FeatureGates
from kapy.api.validation import validate
from kapy.kube import Document
from kapy.kube.patch.merge_patch import apply

REF = {"apiGroup": "a.example.com", "kind": "Template", "name": "t"}
POOL = {"apiGroup": "ipam.example.com", "kind": "Pool", "name": "p"}
SELECTED = {"matchLabels": {"a": "b"}}
BROKEN = {"matchExpressions": [{"key": "a", "operator": "Like"}]}
GATES: Final = FeatureGates(runtime_sdk=True)


def named(group: str, kind: str, spec: Document) -> Document:
    api_version = f"{group}cluster.x-k8s.io/v1beta2"
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "one"}, "spec": spec}


MACHINES = {"clusterName": "c", "bootstrap": {"configRef": REF}, "infrastructureRef": REF}
GOOD: Final = {
    document["kind"]: document
    for document in (
        named("", "MachinePool", {"clusterName": "c", "template": {"spec": MACHINES}}),
        named("", "MachineHealthCheck", {"clusterName": "c", "selector": SELECTED}),
        named("", "MachineDrainRule", {"drain": {"behavior": "Drain", "order": 1}}),
        named(
            "addons.",
            "ClusterResourceSet",
            {"clusterSelector": SELECTED, "resources": [], "strategy": "Reconcile"},
        ),
        named("addons.", "ClusterResourceSetBinding", {"clusterName": "c"}),
        named(
            "ipam.",
            "IPAddress",
            {
                "claimRef": {"name": "one"},
                "poolRef": POOL,
                "address": "10.0.0.2",
                "prefix": 24,
                "gateway": "10.0.0.1",
            },
        ),
        named("ipam.", "IPAddressClaim", {"poolRef": POOL}),
        named(
            "runtime.",
            "ExtensionConfig",
            {"clientConfig": {"url": "https://a.example.com"}, "namespaceSelector": {}},
        ),
    )
}
SERVICE = {"namespace": "a", "name": "b"}


def found(
    document: Document, old: Document | None = None, gates: FeatureGates = GATES
) -> list[tuple[str, str]]:
    errors = validate(document, old, gates=gates)
    return [(error.type.removeprefix("FieldValue"), error.field) for error in errors]


@pytest.mark.parametrize("kind", GOOD)
def test_a_valid_object_is_accepted_on_create_and_update(kind: str) -> None:
    assert found(GOOD[kind]) == []
    assert found(GOOD[kind], deepcopy(GOOD[kind])) == []


CREATED: Final[list[tuple[str, Document, list[tuple[str, str]]]]] = [
    (
        "MachinePool",
        {"template": {"spec": {"clusterName": "d", "bootstrap": {"configRef": None}}}},
        [("Required", "spec.template.spec.bootstrap"), ("Invalid", "spec.clusterName")],
    ),
    (
        "MachinePool",
        {"template": {"spec": {"bootstrap": {"configRef": dict.fromkeys(REF, "")}}}},
        [("Required", "spec.template.spec.bootstrap")],
    ),
    (
        "MachinePool",
        {"template": {"spec": {"version": "1"}, "metadata": {"labels": {"-": "b"}}}},
        [
            ("Invalid", "spec.template.spec.version"),
            ("Invalid", "spec.template.spec.version"),
            ("Invalid", "spec.template.metadata.labels"),
        ],
    ),
    (
        "MachinePool",
        {
            "template": {
                "spec": {"taints": [{"key": "a", "effect": "NoExecute", "propagation": "Always"}]}
            }
        },
        [("Forbidden", "spec.taints"), ("Forbidden", "spec.taints")],
    ),
    ("MachineHealthCheck", {"selector": {"matchLabels": None}}, [("Required", "spec.selector")]),
    ("MachineHealthCheck", {"selector": BROKEN}, [("Invalid", "spec.selector")]),
    (
        "MachineHealthCheck",
        {"selector": {"matchLabels": {"cluster.x-k8s.io/cluster-name": "d"}}},
        [("Invalid", "spec.selector")],
    ),
    (
        "MachineHealthCheck",
        {"checks": {"nodeStartupTimeoutSeconds": 29}},
        [("Invalid", "spec.checks.nodeStartupTimeoutSeconds")],
    ),
    ("MachineHealthCheck", {"checks": {"nodeStartupTimeoutSeconds": 0}}, []),
    (
        "MachineHealthCheck",
        {"remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": "some"}}},
        [("Invalid", "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo")],
    ),
    ("MachineDrainRule", {"drain": {"behavior": "Skip"}}, [("Invalid", "spec.drain.order")]),
    (
        "MachineDrainRule",
        {
            "machines": [{"selector": SELECTED, "clusterSelector": BROKEN}],
            "pods": [{"selector": SELECTED}, {"namespaceSelector": BROKEN}],
        },
        [
            ("Invalid", "spec.machines[0].clusterSelector"),
            ("Invalid", "spec.pods[1].namespaceSelector"),
        ],
    ),
    (
        "ClusterResourceSet",
        {"clusterSelector": {"matchLabels": None}},
        [("Invalid", "spec.clusterSelector")],
    ),
    ("IPAddress", {"address": "010.0.0.2"}, [("Invalid", "spec.address")]),
    ("IPAddress", {"address": "fd00::2", "prefix": 33}, []),
    ("IPAddress", {"prefix": 33}, [("Invalid", "spec.prefix")]),
    (
        "IPAddress",
        {"prefix": -1, "gateway": "a"},
        [("Invalid", "spec.prefix"), ("Invalid", "spec.gateway")],
    ),
    ("ExtensionConfig", {"namespaceSelector": None}, [("Required", "spec.namespaceSelector")]),
    ("ExtensionConfig", {"clientConfig": {"url": None}}, [("Required", "spec.clientConfig")]),
    (
        "ExtensionConfig",
        {"clientConfig": {"service": SERVICE}},
        [("Forbidden", "spec.clientConfig")],
    ),
    (
        "ExtensionConfig",
        {"clientConfig": {"url": "http://a.example.com"}},
        [("Invalid", "spec.clientConfig.url")],
    ),
    (
        "ExtensionConfig",
        {"clientConfig": {"url": None, "service": {"namespace": "A", "name": "1", "port": 0}}},
        [
            ("Invalid", "spec.clientConfig.service.name"),
            ("Invalid", "spec.clientConfig.service.namespace"),
            ("Invalid", "spec.clientConfig.service.port"),
        ],
    ),
    (
        "ExtensionConfig",
        {"clientConfig": {"url": None, "service": {**SERVICE, "path": "a"}}},
        [("Invalid", "spec.clientConfig.service.path")] * 2,
    ),
]


@pytest.mark.parametrize(("kind", "change", "expected"), CREATED)
def test_invalid_specs_are_refused_on_create(
    kind: str, change: Document, expected: list[Any]
) -> None:
    assert found(apply(GOOD[kind], {"spec": change})) == expected


@pytest.mark.parametrize(
    ("text", "wrong"),
    [("1", False), ("30", False), ("31", True), ("0", True), ("5s", True), ("", True)],
)
def test_the_timeout_annotation_of_an_extension_must_be_a_number(text: str, wrong: bool) -> None:
    name = "runtime.cluster.x-k8s.io/longest-timeout-seconds"
    document = apply(GOOD["ExtensionConfig"], {"metadata": {"annotations": {name: text}}})
    assert found(document) == [("Invalid", f"metadata.annotations[{name}]")] * wrong


CHANGED: Final[list[tuple[str, Document, list[tuple[str, str]]]]] = [
    (
        "MachinePool",
        {"clusterName": "d", "template": {"spec": {"clusterName": "d"}}},
        [("Forbidden", "spec.clusterName")],
    ),
    ("MachineHealthCheck", {"clusterName": "d"}, [("Forbidden", "spec.clusterName")]),
    (
        "ClusterResourceSet",
        {"clusterSelector": {"matchLabels": {"c": "d"}}, "strategy": "ApplyOnce"},
        [("Invalid", "spec.strategy"), ("Invalid", "spec.clusterSelector")],
    ),
    ("ClusterResourceSetBinding", {"clusterName": "d"}, [("Invalid", "spec.clusterName")]),
    ("IPAddress", {"prefix": 25}, [("Forbidden", "spec")]),
    ("IPAddressClaim", {"poolRef": {"name": "q"}}, [("Forbidden", "spec")]),
]


@pytest.mark.parametrize(("kind", "change", "expected"), CHANGED)
def test_invalid_changes_are_refused_on_update(
    kind: str, change: Document, expected: list[Any]
) -> None:
    assert found(apply(GOOD[kind], {"spec": change}), GOOD[kind]) == expected


@pytest.mark.parametrize(
    ("kind", "gates"),
    [("MachinePool", FeatureGates(machine_pool=False)), ("ExtensionConfig", FeatureGates())],
)
def test_objects_of_a_disabled_feature_gate_are_refused(kind: str, gates: FeatureGates) -> None:
    assert found(GOOD[kind], gates=gates) == [("Forbidden", "spec")]


def test_an_error_of_a_changed_claim_names_the_fields() -> None:
    changed = apply(GOOD["IPAddressClaim"], {"spec": {"clusterName": "c"}})
    (error,) = validate(changed, GOOD["IPAddressClaim"])
    assert error.detail == "IPAddressClaim spec is immutable. Diff: clusterName"


def test_missing_fields_of_a_converted_object_count_as_zero() -> None:
    empty = apply(GOOD["IPAddress"], {"spec": None}) | {"spec": {}}
    assert found(empty) == [("Invalid", "spec.address")]
