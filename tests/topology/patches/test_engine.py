"""The walk over all patches of a class."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.api.names import Annotation, Label
from kapy.contract.fields import Version
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.topology.patches import CannotPatch, Cause
from tests.topology.managed import OF_MD, OWNED, blueprint, cluster, deployment, made, topology
from tests.topology.patches.patching import (
    INFRASTRUCTURE,
    MACHINES,
    PLANE,
    POOLS,
    Extensions,
    add,
    external,
    of_class,
    patch,
    response,
    result,
    values,
)


async def test_each_patch_sees_the_result_of_those_before_it() -> None:
    first = patch("first", INFRASTRUCTURE, add("spec/zones", []))
    second = patch("second", INFRASTRUCTURE, add("spec/zones/-", "a"), add("spec/zones/0", "b"))
    third = patch("third", INFRASTRUCTURE, {"op": "remove", "path": "/spec/template/spec/zones/1"})
    state = await result(of_class(first, second, third))
    assert state.infrastructure_cluster is not None
    assert state.infrastructure_cluster["spec"] == {"net": "x", "zones": ["b"]}


async def test_a_patch_applies_to_every_selected_template() -> None:
    sized = patch("size", MACHINES, add("spec/size", template="{{ .builtin.cluster.name }}-x"))
    pooled = patch("pool", POOLS, add("spec/size", variable="builtin.machinePool.replicas"))
    state = await result(of_class(sized, pooled))
    assert state.control_plane.infrastructure_machine_template is not None
    template = state.machine_deployments["md"].infrastructure_machine_template
    pool = state.machine_pools["mp"].infrastructure_machine_pool_object
    assert template is not None
    assert pool is not None
    assert state.control_plane.infrastructure_machine_template["spec"]["template"]["spec"] == {
        "size": "c-x"
    }
    assert template["spec"]["template"]["spec"] == {"size": "c-x"}
    assert pool["spec"] == {"size": 4}


async def test_values_override_per_part_and_only_defined_variables_are_visible() -> None:
    change = topology(
        variables=values(size="s", hidden="h"),
        workers={
            "machineDeployments": [
                {
                    "class": "small",
                    "name": "md",
                    "variables": {"overrides": values(size="large", hidden="no")},
                }
            ]
        },
    )
    text = "{{ .size }} {{ .hidden }}"
    klass = of_class(
        patch("p", MACHINES, add("spec/size", template=text)), variables={"size": "inline"}
    )
    state = await result(klass, change)
    md = state.machine_deployments["md"].infrastructure_machine_template
    cp = state.control_plane.infrastructure_machine_template
    assert md is not None
    assert cp is not None
    assert md["spec"]["template"]["spec"]["size"] == "large <no value>"
    assert cp["spec"]["template"]["spec"]["size"] == "s <no value>"


@pytest.mark.parametrize(
    ("enabled_if", "changed"),
    [
        ("", True),
        ("true", True),
        ('"true"', False),
        ("{{ .on }}", True),
        ("{{ not .on }}", False),
        ("{{ if .on }}yes{{ end }}", True),
        ("1", False),
    ],
)
async def test_a_patch_applies_when_its_condition_is_true(enabled_if: str, changed: bool) -> None:
    document = patch("p", INFRASTRUCTURE, add("spec/more", 1), enabledIf=enabled_if)
    klass = of_class(document, variables={"on": "inline"})
    state = await result(klass, topology(variables=values(on=True)))
    assert state.infrastructure_cluster is not None
    assert ("more" in state.infrastructure_cluster["spec"]) is changed


@pytest.mark.parametrize("contract", list(Version))
async def test_patches_do_not_change_fields_of_the_topology(contract: Version) -> None:
    plane = "spec/machineTemplate"
    tries = [
        add("spec/version", "v9"),
        add("spec/replicas", 9),
        add("spec/own", "kept"),
        add(plane, {"metadata": {"labels": {"evil": "1"}}, "infrastructureRef": {"name": "x"}}),
        add(f"{plane}/spec", {"infrastructureRef": {"name": "x"}, "deletion": {"own": 1}}),
        add("metadata/labels", {Label.CLUSTER_NAME: "other", "free": "y"}),
        add("metadata/annotations", {Annotation.CLONED_FROM_NAME: "other"}),
    ]
    before = await made(contract=contract)
    was = before.control_plane.object
    assert was is not None
    klass = of_class(patch("p", PLANE, *tries))
    wanted = cluster()
    state = await result(klass, state=before, of=blueprint(wanted, klass, contract=contract))
    plane_object = state.control_plane.object
    assert plane_object is not None
    spec, metadata = plane_object["spec"], plane_object["metadata"]
    assert (spec["version"], spec["replicas"], spec["own"]) == ("v1.34.0", 3, "kept")
    assert metadata["labels"] == {**OWNED, "free": "y"}
    assert metadata["annotations"] == was["metadata"]["annotations"]
    templates = [spec["machineTemplate"], was["spec"]["machineTemplate"]]
    if contract is Version.V1BETA2:
        refs = [template["spec"]["infrastructureRef"] for template in templates]
        assert spec["machineTemplate"]["spec"]["deletion"] == {"own": 1}
    else:
        refs = [template["infrastructureRef"] for template in templates]
    assert refs[0] == refs[1]


async def test_templates_keep_their_topology_labels_and_get_new_ones() -> None:
    change = {"op": "add", "path": "/metadata/labels", "value": {Label.TOPOLOGY_OWNED: "no"}}
    state = await result(of_class(patch("p", MACHINES, change)))
    md = state.machine_deployments["md"].infrastructure_machine_template
    assert md is not None
    assert md["metadata"]["labels"] == OF_MD


_SIZE = add("spec/size", variable="size")
_PROBLEMS = [
    (
        patch("p", MACHINES, _SIZE),
        [
            'patch "p": ThingMachineTemplate of ThingPlane ',
            'definitions[0], add /spec/template/spec/size: variable "size" does not exist',
            "; ThingMachineTemplate of MachineDeployment ",
        ],
    ),
    (
        patch("p", INFRASTRUCTURE, add("spec/x", template="{{ fail `no such size` }}")),
        ["add /spec/template/spec/x: template", "no such size"],
    ),
    (
        patch("p", INFRASTRUCTURE, add("spec/x", template="{{ .bad")),
        ["add /spec/template/spec/x: template", "unclosed action"],
    ),
    (
        patch("p", INFRASTRUCTURE, add("spec/x", template="a: b: c")),
        ['what template "a: b: c" makes is no YAML: line 1: mapping values are not allowed'],
    ),
    (
        patch("p", INFRASTRUCTURE, add("spec/x", 1), enabledIf="{{ if }}"),
        ["enabledIf: template"],
    ),
    (
        patch("p", INFRASTRUCTURE, add("spec/deep/er", 1)),
        [
            "ThingClusterTemplate of Cluster c: definitions[0], add /spec/template/spec/deep/er: "
            "there is no /spec/template/spec/deep"
        ],
    ),
    (
        patch("p", INFRASTRUCTURE, {"op": "replace", "path": "/spec/x", "value": 1}),
        ["replace /spec/x: there is no /spec/x"],
    ),
    (
        patch("p", INFRASTRUCTURE, {"op": "bogus", "path": "/spec/x"}),
        ['"bogus" is no operation of a JSON patch'],
    ),
    (
        patch("p", INFRASTRUCTURE, {"op": "add", "path": "/spec/x"}),
        ["add /spec/x: neither value nor valueFrom is set"],
    ),
    (external("p"), ['external patch "p" while the feature gate RuntimeSDK is off']),
]


@pytest.mark.parametrize(("wrong", "said"), _PROBLEMS)
async def test_an_invalid_patch_is_reported_and_changes_nothing(
    wrong: Document, said: list[str]
) -> None:
    right = patch("right", INFRASTRUCTURE, add("spec/more", 1))
    state = await made()
    parts = [state.infrastructure_cluster, state.control_plane.object]
    with pytest.raises(CannotPatch) as refusal:
        await result(of_class(right, wrong), state=state)
    assert str(refusal.value).startswith("ClusterClass classes/klass: ")
    for words in ['patch "p": ', *said]:
        assert words in str(refusal.value)
    assert state.infrastructure_cluster is parts[0]
    assert state.control_plane.object is parts[1]


async def test_an_invalid_patch_of_unused_templates_is_ignored() -> None:
    other = {**MACHINES, "matchResources": {"machineDeploymentClass": {"names": ["large"]}}}
    await result(of_class(patch("p", other, add("spec/x", template="{{ .bad"))))


async def test_workers_of_a_removed_class_are_named() -> None:
    klass = of_class(patch("p", PLANE, add("spec/x", 1)))
    change = deployment(**{"class": "gone"})
    with pytest.raises(CannotPatch, match=r'no MachineDeployment class "gone", which .* "md"'):
        await result(klass, state=await made(), of=blueprint(cluster(change), klass))


async def test_extensions_and_inline_patches_take_turns() -> None:
    answers: dict[str, Any] = {
        "ThingClusterTemplate": [
            {"op": "test", "path": "/spec/template/spec/first", "value": 1},
            {"op": "add", "path": "/spec/template/spec/second", "value": 2},
        ],
        "ThingMachineTemplate": {"spec": {"template": {"spec": {"size": "xl"}}}},
    }
    hooks = Extensions(lambda item: answers.get(item["object"]["kind"]))
    klass = of_class(
        patch("one", INFRASTRUCTURE, add("spec/first", 1)),
        external("two", validateTopologyExtension="two.check", settings={"a": "b"}),
        patch("three", INFRASTRUCTURE, {"op": "remove", "path": "/spec/template/spec/first"}),
        variables={"size": "two", "colour": "inline"},
    )
    causes: list[Cause] = []
    state = await result(klass, topology(variables=values(size=1, colour=2)), hooks, causes)
    assert state.infrastructure_cluster is not None
    assert state.infrastructure_cluster["spec"] == {"net": "x", "second": 2}
    (request,), (checked,) = hooks.generated, hooks.validated
    assert request["extension"] == "two.ext"
    assert request["kind"] == "GeneratePatchesRequest"
    assert request["settings"] == checked["settings"] == {"a": "b"}
    assert [variable["name"] for variable in request["variables"]] == ["size", "builtin"]
    assert checked["extension"] == "two.check"
    assert checked["items"][0]["object"]["spec"]["template"]["spec"] == {"net": "x", "second": 2}
    assert "uid" not in checked["items"][0]
    made_by_two = {(cause.kind, cause.path) for cause in causes if cause.patch == "two"}
    assert ("ThingCluster", "/spec/second") in made_by_two
    assert ("ThingMachineTemplate", "/spec/template/spec/size") in made_by_two


async def test_requests_name_the_holders_of_templates_and_omit_annotations() -> None:
    hooks = Extensions()
    await result(of_class(external("p")), external=hooks)
    items = hooks.generated[0]["items"]
    places = [
        (item["holderReference"]["kind"], item["holderReference"]["fieldPath"]) for item in items
    ]
    assert places == [
        ("Cluster", "spec.infrastructureRef"),
        ("Cluster", "spec.controlPlaneRef"),
        ("ThingPlane", "spec.machineTemplate.spec.infrastructureRef"),
        ("MachineDeployment", "spec.template.spec.bootstrap.configRef"),
        ("MachineDeployment", "spec.template.spec.infrastructureRef"),
        ("MachinePool", "spec.template.spec.bootstrap.configRef"),
        ("MachinePool", "spec.template.spec.infrastructureRef"),
    ]
    assert len({item["uid"] for item in items}) == len(items)
    assert "last-applied" not in str(items)
    again = Extensions()
    await result(of_class(external("p")), external=again)
    assert [item["uid"] for item in again.generated[0]["items"]] == [item["uid"] for item in items]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"uid": "x", "patchType": "JSONPatch", "patch": ""}, "a template that nobody asked for"),
        (
            {"patchType": "Bogus", "patch": ""},
            'neither a JSONPatch nor a JSONMergePatch, but "Bogus"',
        ),
        ({"patchType": "JSONPatch", "patch": "bm90IGpzb24="}, "is no JSON"),
        ({"patchType": "JSONPatch", "patch": "%"}, "is no JSON"),
        ({"patchType": "JSONPatch", "patch": "e30="}, "a JSON patch is a list of operations"),
    ],
)
async def test_an_invalid_response_is_reported(answer: Document, said: str) -> None:
    class Answering(Extensions):
        async def generate(self, extension: str, cluster: object, request: Document) -> Document:
            return {"items": [{"uid": request["items"][0]["uid"], **answer}]}

    with pytest.raises(CannotPatch, match=said):
        await result(of_class(external("p")), external=Answering())


async def test_an_extension_that_fails_stops_the_walk() -> None:
    class Failing(Extensions):
        async def generate(self, extension: str, cluster: object, request: Document) -> Document:
            raise KapyError("two.ext: connection refused")

        validate = generate

    with pytest.raises(CannotPatch, match=r': patch "p": two.ext: connection refused'):
        await result(of_class(external("p")), external=Failing())
    checks = {"name": "p", "external": {"validateTopologyExtension": "p.check"}}
    with pytest.raises(CannotPatch, match=r': validation of patch "p": two.ext: connection'):
        await result(of_class(checks), external=Failing())


async def test_a_patch_that_only_checks_changes_nothing() -> None:
    hooks = Extensions()
    checks = {"name": "p", "external": {"validateTopologyExtension": "p.check"}}
    await result(of_class(checks), external=hooks)
    assert hooks.generated == []
    assert [document["extension"] for document in hooks.validated] == ["p.check"]


async def test_causes_name_the_source_of_each_value() -> None:
    changes = [
        add("spec/a", variable="builtin.cluster.name"),
        add("spec/b", template="{{ 1 }}"),
        add("spec/c", 3),
        {"op": "remove", "path": "/spec/template/spec/c"},
    ]
    causes: list[Cause] = []
    state = await result(of_class(patch("p", INFRASTRUCTURE, *changes)), causes=causes)
    assert state.infrastructure_cluster is not None
    name = state.infrastructure_cluster["metadata"]["name"]
    assert causes == [
        Cause("ThingCluster", name, f"/spec/{field}", "p", 0, source)
        for field, source in [
            ("a", "variable builtin.cluster.name"),
            ("b", "template {{ 1 }}"),
            ("c", ""),
            ("c", ""),
        ]
    ]


def test_patches_of_a_response_are_base64() -> None:
    assert response("u", [])["patch"] == "W10="
