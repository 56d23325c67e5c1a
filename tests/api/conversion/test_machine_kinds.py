"""Machines and what makes and watches them, in v1beta1 and in v1beta2."""

from __future__ import annotations

from typing import Any, Final

import pytest

from kapy.api.conversion import DATA, ConversionError, convert
from kapy.kube import Document
from kapy.kube.names import GroupKind

OLD, NEW = "cluster.x-k8s.io/v1beta1", "cluster.x-k8s.io/v1beta2"
REF = {"apiVersion": "a.example.com/v1", "kind": "Template", "name": "t", "namespace": "capybaras"}
NEW_REF = {"apiGroup": "a.example.com", "kind": "Template", "name": "t"}
MACHINES: Final = {
    "clusterName": "c",
    "bootstrap": {"dataSecretName": "s"},
    "infrastructureRef": REF,
    "nodeDrainTimeout": "90s",
}
NEW_MACHINES: Final = {
    "clusterName": "c",
    "bootstrap": {"dataSecretName": "s"},
    "infrastructureRef": NEW_REF,
    "deletion": {"nodeDrainTimeoutSeconds": 90},
}


def named(kind: str, spec: Document, **more: Any) -> Document:
    meta = {"name": "one", "namespace": "capybaras"}
    return {"apiVersion": OLD, "kind": kind, "metadata": meta, "spec": spec, **more}


def stored(kind: str, spec: Document, **more: Any) -> Document:
    return convert(named(kind, spec, **more), NEW)


def version_of(kind: GroupKind) -> str:
    return f"{kind.group}/v7"


def test_a_template_keeps_fields_beside_its_spec() -> None:
    for kind in ("MachineSet", "MachineDeployment", "MachinePool"):
        spec = {"clusterName": "c", "minReadySeconds": 5, "template": {"spec": MACHINES}}
        template = stored(kind, spec)["spec"]["template"]
        assert template == {"spec": {**NEW_MACHINES, "minReadySeconds": 5}}


def test_an_empty_reference_becomes_none() -> None:
    spec = {**MACHINES, "bootstrap": {"configRef": {}}, "infrastructureRef": {}}
    there = stored("Machine", spec, status={"nodeRef": {}})
    assert set(there["spec"]) == {"clusterName", "deletion"}
    assert "status" not in there


STRATEGIES: Final[list[tuple[Document, Document]]] = [
    (
        {"strategy": {"type": "OnDelete"}},
        {"rollout": {"strategy": {"type": "OnDelete"}}},
    ),
    (
        {"strategy": {"rollingUpdate": {"maxSurge": "25%", "deletePolicy": "Newest"}}},
        {
            "rollout": {"strategy": {"rollingUpdate": {"maxSurge": "25%"}}},
            "deletion": {"order": "Newest"},
        },
    ),
    (
        {"strategy": {"remediation": {"maxInFlight": 1}}, "rolloutAfter": "2026-01-02T03:04:05Z"},
        {"rollout": {"after": "2026-01-02T03:04:05Z"}, "remediation": {"maxInFlight": 1}},
    ),
    ({"strategy": {}}, {}),
    ({"machineNamingStrategy": {"template": "a"}}, {"machineNaming": {"template": "a"}}),
]


@pytest.mark.parametrize(("old", "new"), STRATEGIES)
def test_a_strategy_is_converted_into_several_fields(old: Document, new: Document) -> None:
    both = {"clusterName": "c", "selector": {"matchLabels": {"a": "b"}}}
    there = stored("MachineDeployment", {**both, **old})
    assert there["spec"] == {**both, **new}
    back = convert(there, OLD)["spec"]
    assert {name: back.get(name) for name in old} == {
        name: value or None for name, value in old.items()
    }


def test_timeouts_of_a_health_check_become_seconds() -> None:
    spec = {
        "clusterName": "c",
        "selector": {"matchLabels": {"a": "b"}},
        "unhealthyConditions": [{"type": "Ready", "status": "False", "timeout": "5m"}],
        "nodeStartupTimeout": "0s",
        "maxUnhealthy": "40%",
        "remediationTemplate": REF,
    }
    there = stored("MachineHealthCheck", spec)
    condition = {"type": "Ready", "status": "False", "timeoutSeconds": 300}
    reference = {name: REF[name] for name in ("apiVersion", "kind", "name")}
    assert there["spec"] == {
        "clusterName": "c",
        "selector": {"matchLabels": {"a": "b"}},
        "checks": {"nodeStartupTimeoutSeconds": 0, "unhealthyNodeConditions": [condition]},
        "remediation": {
            "triggerIf": {"unhealthyLessThanOrEqualTo": "40%"},
            "templateRef": reference,
        },
    }
    spec["unhealthyConditions"] = [{"type": "Ready", "status": "False", "timeout": "5m0s"}]
    assert convert(there, OLD)["spec"] == spec


def test_counters_with_a_new_meaning_do_not_mix_with_the_old_ones() -> None:
    old = {"replicas": 3, "readyReplicas": 2, "v1beta2": {"readyReplicas": 1}}
    status = stored("MachineSet", {"clusterName": "c"}, status=old)["status"]
    assert (status["replicas"], status["readyReplicas"]) == (3, 1)
    assert status["deprecated"]["v1beta1"]["readyReplicas"] == 2


def test_only_fields_that_the_older_version_lacks_are_remembered() -> None:
    spec = {"clusterName": "c", "template": {"spec": NEW_MACHINES}}
    for kind, remembered in (("MachineSet", False), ("MachineDeployment", True)):
        document = {**named(kind, spec), "apiVersion": NEW}
        there = convert(document, OLD, reference_version=version_of)
        assert (DATA in there["metadata"].get("annotations", {})) is remembered
        reference = there["spec"]["template"]["spec"]["infrastructureRef"]
        assert reference == {**REF, "apiVersion": "a.example.com/v7"}
        assert "annotations" not in convert(there, NEW)["metadata"]


BROKEN: Final[list[tuple[str, Document, str]]] = [
    ("MachineSet", {"replicas": "three"}, "spec.replicas"),
    ("MachineDeployment", {"template": {"spec": {"taints": {}}}}, "spec.template.spec.taints"),
    ("MachinePool", {"template": {"spec": {"nodeDrainTimeout": "soon"}}}, "nodeDrainTimeout"),
    (
        "MachineDeployment",
        {"template": {"spec": {"infrastructureRef": {"apiVersion": "a/b/c"}}}},
        "spec.template.spec.infrastructureRef.apiVersion",
    ),
    ("MachineHealthCheck", {"unhealthyConditions": [{"timeout": 5}]}, "[0].timeout"),
]


@pytest.mark.parametrize(("kind", "spec", "field"), BROKEN)
def test_an_error_names_the_broken_object_and_field(kind: str, spec: Document, field: str) -> None:
    with pytest.raises(ConversionError) as caught:
        stored(kind, spec)
    assert f"{kind} capybaras/one" in str(caught.value)
    assert field in str(caught.value)
