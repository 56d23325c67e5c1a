"""The static checks: judged and skipped rules, and input that is not a release."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kapy.testing.conformance.check import check_release, check_releases
from kapy.testing.conformance.errors import ConformanceError
from kapy.testing.conformance.files import File
from kapy.testing.conformance.findings import Report, Result, State
from kapy.testing.conformance.release import Release
from kapy.testing.conformance.rules import RULES, CheckMethod
from tests.testing.conformance.valid_release import CONDITIONS, DOMAIN, Draft, crd, ipam


def result(report: Report, rule: str) -> Result:
    return next(item for item in report.results if item.rule.id == rule)


def of(text: str, name: str = "infrastructure-components.yaml") -> Report:
    return check_release(Release("meadow", (File(name, text),)))


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES.values() if rule.checked is not CheckMethod.STATIC]
)
def test_rules_without_evidence_in_files_never_pass(rule: Any) -> None:
    state = result(GOOD, rule.id).state
    assert state is (State.AUTHOR if rule.checked is CheckMethod.AUTHOR else State.NOT_RUN)


GOOD = check_release(Draft().release())


@pytest.mark.parametrize(
    ("group", "kind", "labelled"),
    [
        ("infrastructure.cluster.x-k8s.io", "MeadowMachinePoolMachine", True),
        ("infrastructure.cluster.x-k8s.io", "MeadowClusterIdentity", True),
        ("infrastructure.cluster.x-k8s.io", "MeadowRoleConfig", True),
        ("infrastructure.cluster.x-k8s.io", "MeadowControlPlane", True),
        ("operators.meadow.example", "MeadowMachine", False),
        ("cluster.x-k8s.io", "Machine", False),
    ],
)
def test_kinds_that_no_document_describes_are_left_alone(
    group: str, kind: str, labelled: bool
) -> None:
    document = crd("MeadowCluster")
    document["spec"] |= {"group": group, "scope": "Cluster", "names": {"kind": kind, "plural": "a"}}
    document["metadata"] |= {
        "name": "odd",
        "labels": {"cluster.x-k8s.io/provider": "infrastructure-a"},
    }
    if labelled:
        document["metadata"]["labels"]["cluster.x-k8s.io/v1beta2"] = "v9"
    broken = of(json.dumps(document)).with_state(State.BROKEN)
    named = {"infra-cluster/definition", "infra-machine/definition", "clusterctl/namespace"}
    assert {item.rule.id for item in broken} == named | {"clusterctl/manager"}


def test_an_unidentified_kind_may_be_the_missing_one() -> None:
    draft = Draft()
    document = draft.crd("MeadowMachine")
    document["spec"]["names"] |= {"kind": "Cow", "listKind": "CowList"}
    value = result(check_release(draft.release()), "infra-machine/definition")
    assert (value.state, "Cow" in value.reason) == (State.NOT_RUN, True)


def test_without_a_contract_fields_are_not_judged() -> None:
    draft = Draft()
    draft.crd("MeadowMachine")["metadata"]["labels"].clear()
    assert (
        result(check_release(draft.release()), "infra-machine/provider-id").state is State.NOT_RUN
    )


def test_a_provider_of_the_old_contract_is_judged_by_that() -> None:
    draft = Draft()
    document = draft.crd("MeadowMachine")
    del document["metadata"]["labels"]["cluster.x-k8s.io/v1beta2"]
    document["metadata"]["labels"]["cluster.x-k8s.io/v1beta1"] = "v1beta1_v1beta2"
    value = result(check_release(draft.release()), "infra-machine/initialization")
    assert "status.ready" in value.findings[0].evidence


OLD_CONTROL_PLANE = {
    "spec.replicas": "integer",
    "spec.rolloutAfter": "string",
    "spec.machineTemplate.metadata": "object",
    "spec.machineTemplate.infrastructureRef": "object",
    "spec.machineTemplate.nodeDrainTimeout": "string",
    "spec.machineTemplate.nodeVolumeDetachTimeout": "string",
    "spec.machineTemplate.nodeDeletionTimeout": "string",
    "status.selector": "string",
    "status.replicas": "integer",
    "status.updatedReplicas": "integer",
    "status.readyReplicas": "integer",
    "status.unavailableReplicas": "integer",
    "status.initialized": "boolean",
    **CONDITIONS,
}
OLD_CLUSTER = {"status.failureDomains": "object", "status.ready": "boolean", **CONDITIONS}


@pytest.mark.parametrize(
    ("kind", "fields"),
    [("MeadowControlPlane", OLD_CONTROL_PLANE), ("MeadowCluster", OLD_CLUSTER)],
)
def test_a_provider_of_the_old_contract_needs_only_its_fields(
    kind: str, fields: dict[str, str]
) -> None:
    draft = Draft()
    label = draft.crd(kind)["metadata"]["labels"]["cluster.x-k8s.io/provider"]
    draft.drop(kind)
    document = crd(kind, fields)
    document["metadata"]["labels"] = {
        "cluster.x-k8s.io/provider": label,
        "cluster.x-k8s.io/v1beta1": "v1beta2",
    }
    draft.components.append(document)
    assert check_release(draft.release()).with_state(State.BROKEN) == []
    document["metadata"]["labels"]["cluster.x-k8s.io/v1beta2"] = "v1beta2"
    assert len(check_release(draft.release()).with_state(State.BROKEN)) > 1


@pytest.mark.parametrize(
    ("document", "rule", "judged"),
    [
        ({"spec.replicas": None}, "control-plane/replicas", False),
        ({"spec.replicas": None}, "control-plane/scale", False),
        ({"spec.version": None}, "control-plane/status-version", False),
        ({"spec.machineTemplate": None}, "control-plane/machine-template", False),
        ({}, "control-plane/replicas", True),
    ],
)
def test_rules_of_absent_fields_do_not_apply(
    document: dict[str, None], rule: str, judged: bool
) -> None:
    draft = Draft()
    for version in draft.crd("MeadowControlPlane")["spec"]["versions"]:
        for path in document:
            draft.schema_of(version, path, None)
    state = result(check_release(draft.release()), rule).state
    assert state is (State.PASSED if judged else State.NOT_APPLICABLE)


def test_a_schema_that_preserves_unknown_fields_passes_without_evidence() -> None:
    draft = Draft()
    for version in draft.crd("MeadowControlPlane")["spec"]["versions"]:
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version["schema"] = {"openAPIV3Schema": schema}
        version.pop("subresources", None)
    report = check_release(draft.release())
    assert report.with_state(State.BROKEN) == []
    assert result(report, "control-plane/scale").state is State.NOT_APPLICABLE


def test_core_may_get_its_rights_by_a_binding_too() -> None:
    draft = Draft()
    role = draft.of("ClusterRole")
    del role["metadata"]["labels"]["cluster.x-k8s.io/aggregate-to-manager"]
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "a", "labels": {"cluster.x-k8s.io/provider": draft.label}},
        "roleRef": {"kind": "ClusterRole", "name": role["metadata"]["name"]},
        "subjects": [
            {"kind": "ServiceAccount", "name": "capi-manager", "namespace": "capi-system"}
        ],
    }
    draft.components.append(binding)
    assert check_release(draft.release()).with_state(State.BROKEN) == []


def test_each_folder_with_files_is_a_release(tmp_path: Path) -> None:
    for label in ("infrastructure-a", "infrastructure-b"):
        folder = tmp_path / label / "v1.0.0"
        folder.mkdir(parents=True)
        (folder / "metadata.yaml").write_text("kind: Metadata\n")
    names = [release.name for release in check_releases(tmp_path)]
    assert names == ["infrastructure-a/v1.0.0", "infrastructure-b/v1.0.0"]


def test_a_template_may_be_yaml_only_when_its_variables_have_values(tmp_path: Path) -> None:
    (tmp_path / "metadata.yaml").write_text("kind: Metadata\n")
    template = (
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: ${A}b ${B:=}}\n"
    )
    (tmp_path / "cluster-template.yaml").write_text(template)
    value = result(check_releases(tmp_path)[0], "clusterctl/common-variables")
    assert value.state is State.BROKEN


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("metadata: {name: ${A}}", "${A}"),
        ("metadata: {name: ${A}-${B:=b}}", "${A}-b"),
        ("metadata:\n  name: ${A}\n  ${LABELS}", "${A}"),
        ("metadata:\n  name: ${A:=a\n: b}", "${A}"),
        ("metadata:\n  name: ${A}\n  finalizers:\n  - a\n${MORE}", "${A}"),
    ],
)
def test_variables_in_a_template_are_not_replaced(line: str, name: str) -> None:
    text = f"apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\n{line}\n"
    file = File("cluster-template.yaml", text)
    assert [obj.name for obj in file.objects] == [name]


def test_a_template_that_cannot_be_read_leaves_the_rest_of_its_release() -> None:
    draft = Draft(extra={"cluster-template-odd.yaml": "a: ${B}\n- c\n"})
    draft.crd("MeadowMachine")["spec"]["scope"] = "Cluster"
    report = check_release(draft.release())
    assert [item.rule.id for item in report.with_state(State.BROKEN)] == ["infra-machine/scope"]
    assert "cluster-template-odd.yaml: line 2" in report.trouble


def test_an_unchecked_crd_name_may_be_any_name() -> None:
    draft = Draft()
    metadata = draft.crd("MeadowMachine")["metadata"]
    metadata["name"] = f"cows.{DOMAIN}"
    metadata["annotations"] = {"clusterctl.cluster.x-k8s.io/skip-crd-name-preflight-check": ""}
    assert check_release(draft.release()).with_state(State.BROKEN) == []


def test_a_kind_with_a_similar_name_is_no_infra_machine() -> None:
    draft = Draft()
    pooled = crd("PooledMeadowMachine", {"spec.pool": "string", "status.reserved": "boolean"})
    pooled["metadata"]["labels"]["cluster.x-k8s.io/provider"] = draft.label
    draft.schema_of(pooled["spec"]["versions"][0], "status.ready", None)
    draft.components.append(pooled)
    assert check_release(draft.release()).with_state(State.BROKEN) == []
    # Without another kind of machine, this kind counts as the machine, and violates the rule.
    draft.drop("MeadowMachine", "MeadowMachineTemplate")
    assert "infra-machine/provider-id" in {
        item.rule.id for item in check_release(draft.release()).with_state(State.BROKEN)
    }


@pytest.mark.parametrize(
    ("group", "kind", "is_judged"),
    [
        ("infrastructure.cluster.x-k8s.io", "MeadowCluster", True),
        ("infrastructure.cluster.x-k8s.io", "LakeMachine", True),
        ("infrastructure.cluster.x-k8s.io", "MeadowMashineTemplate", True),
        ("infrastructure.cluster.x-k8s.io", "LakeMashine", False),
        ("bootstrap.cluster.x-k8s.io", "MeadowConfig", True),
        ("bootstrap.cluster.x-k8s.io", "KubeadmConfig", False),
        ("lake.example", "LakeMachine", False),
    ],
)
def test_kinds_of_others_in_shared_groups_are_left_alone(
    group: str, kind: str, is_judged: bool
) -> None:
    shared = "infrastructure.cluster.x-k8s.io"
    machine, helper = crd("MeadowMachine"), crd("MeadowThing", {"spec": "object"})
    for document, text in ((machine, shared), (helper, "bootstrap.cluster.x-k8s.io")):
        document["metadata"]["labels"]["cluster.x-k8s.io/provider"] = "infrastructure-meadow"
        document["spec"]["group"] = text
    cluster = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"name": "${CLUSTER_NAME}"},
        "spec": {"infrastructureRef": {"apiGroup": group, "kind": kind, "name": "a"}},
    }
    files = (
        File("infrastructure-components.yaml", f"{json.dumps(machine)}\n---\n{json.dumps(helper)}"),
        File("cluster-template.yaml", json.dumps(cluster)),
    )
    report = check_release(Release("meadow", files))
    assert (result(report, "clusterctl/own-kinds").state is State.BROKEN) == is_judged


def test_each_contract_that_a_crd_names_is_one_that_its_versions_keep() -> None:
    draft = Draft()
    old = draft.crd("MeadowCluster")["spec"]["versions"][0]
    draft.schema_of(old, "status.ready", None)
    [value] = check_release(draft.release()).with_state(State.BROKEN)
    assert value.rule.id == "infra-cluster/initialization"
    assert "status.ready (contract v1beta1)" in value.findings[0].evidence


def test_a_single_file_is_no_repository(tmp_path: Path) -> None:
    path = tmp_path / "cluster-template.yaml"
    path.write_text("apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: a}\n")
    report = check_releases(path)[0]
    assert [item.rule.id for item in report.with_state(State.BROKEN)] == [
        "clusterctl/common-variables"
    ]
    assert result(report, "clusterctl/repository").state is State.NOT_APPLICABLE


def test_a_part_of_a_release_is_judged_alone(tmp_path: Path) -> None:
    document = crd("MeadowMachine")
    document["metadata"]["labels"]["cluster.x-k8s.io/provider"] = "infrastructure-meadow"
    (tmp_path / "machines.yaml").write_text(json.dumps(document))
    broken = check_releases(tmp_path)[0].with_state(State.BROKEN)
    # Its template and its rights are asked for beside it.
    assert {item.rule.id for item in broken} == {"infra-machine/rights", "infra-machine/template"}


CRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n"
NAMED = "spec: {group: infrastructure.a.example, names: {kind: ACluster}"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (f"{CRD}{NAMED}}}\n", "infra-cluster/contract-label"),
        (f"{CRD}{NAMED}, versions: []}}\n", "infra-cluster/contract-label"),
        (f"{CRD}{NAMED}, versions: {{}}}}\n", "infra-cluster/contract-label"),
        (f"{CRD}{NAMED}, versions: [1, {{name: [a]}}]}}\n", "infra-cluster/contract-label"),
        (
            f"{CRD.replace('{name: a}', '{labels: {cluster.x-k8s.io/v1beta2: v1}}')}{NAMED}}}\n",
            "infra-cluster/label-versions",
        ),
        (
            f"{CRD.replace('{name: a}', '{labels: {cluster.x-k8s.io/v1beta2: v1}}')}"
            f"{NAMED}, versions: [{{served: true}}]}}\n",
            "infra-cluster/label-versions",
        ),
    ],
    ids=["no versions", "an empty list", "a map", "items that are none", "but a label", "no name"],
)
def test_a_crd_without_versions_is_a_finding(text: str, rule: str) -> None:
    assert rule in {item.rule.id for item in of(text).with_state(State.BROKEN)}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [", "infrastructure-components.yaml: line 2"),
        ("- a\n- b\n", "document 1 is no object"),
        ("hello\n", "document 1 is no object"),
        ("\x00\x01", "infrastructure-components.yaml"),
        (f"{'[' * 5000}", "exceeded max depth"),
        (CRD, "no spec.group and spec.names.kind"),
        (f"{CRD}spec: a\n", "no spec.group and spec.names.kind"),
        (f"{CRD}spec: {{group: [a], names: {{kind: 1}}}}\n", "no spec.group and spec.names.kind"),
    ],
)
def test_a_file_that_is_no_manifest_is_reported_in_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ConformanceError) as error:
        of(text)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    "value", ["1", "a", "[]", "{}", "[[]]", "{a: {b: []}}", "null", "[null, 1]"]
)
@pytest.mark.parametrize(
    "document",
    [
        "{kind: Deployment, metadata: VALUE, spec: VALUE}",
        "{kind: Deployment, metadata: {}, spec: {template: {spec: {containers: VALUE}}}}",
        "{kind: ClusterRole, metadata: {name: a, labels: VALUE}, rules: VALUE}",
        "{kind: ClusterRoleBinding, metadata: {name: VALUE}, subjects: VALUE, roleRef: VALUE}",
        "{apiVersion: cluster.x-k8s.io/v1beta2, kind: ClusterClass, metadata: VALUE, spec: VALUE}",
        "{apiVersion: VALUE, kind: VALUE, metadata: {namespace: VALUE, name: VALUE}}",
    ],
)
def test_unexpected_values_cause_no_error(document: str, value: str) -> None:
    text = document.replace("VALUE", value)
    for name in ("infrastructure-components.yaml", "clusterclass-a.yaml", "cluster-template.yaml"):
        files = (File("metadata.yaml", value), File(name, text))
        assert check_release(Release("a/v1", files, ("a", "v1"))).results


ODD: Any = (None, 1, "a", "${A", [], {}, [[]], {"a": []}, [{"a": 1}], True)


@pytest.mark.parametrize("seed", range(60))
def test_a_random_release_is_judged_or_reported_as_unreadable(seed: int) -> None:
    random = Random(seed)
    draft = Draft() if seed % 4 else ipam()
    node: Any = draft.objects[random.choice(list(draft.objects))]
    place: Any = random.randrange(len(node))
    while isinstance(node[place], dict | list) and node[place] and random.random() < 0.9:
        node = node[place]
        place = random.choice(list(node) if isinstance(node, dict) else range(len(node)))
    node[place] = random.choice(ODD)
    try:
        name = check_release(draft.release()).name
    except ConformanceError as error:
        name = str(error)
    assert draft.label in name


def test_a_folder_with_unrelated_files_is_no_release(tmp_path: Path) -> None:
    for number in range(1001):
        (tmp_path / str(number)).mkdir()
    with pytest.raises(ConformanceError, match="more than 1000 folders"):
        check_releases(tmp_path)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda folder: folder / "missing", "does not exist"),
        (lambda folder: folder, "has no file that ends with .yaml or .yml"),
    ],
)
def test_a_missing_or_empty_folder_is_reported(tmp_path: Path, make: Any, sentence: str) -> None:
    with pytest.raises(ConformanceError, match=sentence):
        check_releases(make(tmp_path))
