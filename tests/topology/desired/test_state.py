"""The desired objects of a Cluster and its ClusterClass."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapy.contract.fields import Version
from kapy.kube import Document
from kapy.kube.meta import Object, to_document
from kapy.topology.desired import CannotCompute
from kapy.topology.state import ClusterState
from tests.topology.managed import (
    OF_MD,
    OF_MP,
    OWNED,
    OWNER,
    Asked,
    blueprint,
    deployment,
    deployment_class,
    made,
    pool,
    pool_class,
    settled,
    the_deployment,
    topology,
)


def everything(state: ClusterState) -> list[Document]:
    """All objects of a state, as documents."""
    plane = state.control_plane
    parts: list[Document | Object | None] = [
        state.cluster,
        state.infrastructure_cluster,
        plane.object,
        plane.infrastructure_machine_template,
        plane.machine_health_check,
    ]
    for md in state.machine_deployments.values():
        parts += [md.object, md.bootstrap_template, md.infrastructure_machine_template]
        parts.append(md.machine_health_check)
    for mp in state.machine_pools.values():
        parts += [mp.object, mp.bootstrap_object, mp.infrastructure_machine_pool_object]
    return [
        to_document(part) if isinstance(part, Object) else part
        for part in parts
        if part is not None
    ]


async def test_templates_become_templates_of_the_cluster() -> None:
    template = (await made()).machine_deployments["md"].bootstrap_template
    assert template is not None
    name = template["metadata"].pop("name")
    assert name.startswith("c-md-")
    assert template == {
        "apiVersion": "boot.io/v1",
        "kind": "BootTemplate",
        "metadata": {
            "namespace": "ns",
            "labels": {"team": "blue", **OF_MD},
            "annotations": {
                "cluster.x-k8s.io/cloned-from-name": "boot",
                "cluster.x-k8s.io/cloned-from-groupkind": "BootTemplate.boot.io",
            },
            "ownerReferences": OWNER,
        },
        "spec": {"template": {"spec": {"files": ["a"]}}},
    }


async def test_referenced_objects_have_no_owner_yet() -> None:
    state = await made()
    assert state.infrastructure_cluster is not None
    assert state.control_plane.object is not None
    name = state.infrastructure_cluster["metadata"]["name"]
    assert state.infrastructure_cluster == {
        "apiVersion": "infra.io/v1",
        "kind": "ThingCluster",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "labels": OWNED,
            "annotations": {
                "cluster.x-k8s.io/cloned-from-name": "infra",
                "cluster.x-k8s.io/cloned-from-groupkind": "ThingClusterTemplate.infra.io",
            },
        },
        "spec": {"net": "x"},
    }
    assert "ownerReferences" not in state.control_plane.object["metadata"]
    ref = state.cluster.spec.infrastructure_ref
    assert ref is not None
    assert (ref.api_group, ref.kind, ref.name) == ("infra.io", "ThingCluster", name)
    assert state.cluster.metadata.labels == OWNED


async def test_a_pool_is_made_of_objects_that_the_cluster_owns() -> None:
    state = (await made()).machine_pools["mp"]
    for part, kind in (
        (state.bootstrap_object, "Boot"),
        (state.infrastructure_machine_pool_object, "ThingPool"),
    ):
        assert part is not None
        assert part["kind"] == kind
        assert part["metadata"]["labels"] == OF_MP
        assert part["metadata"]["ownerReferences"] == OWNER
    assert state.object.spec.template.spec.infrastructure_ref.kind == "ThingPool"
    assert state.object.metadata.labels == state.object.spec.template.metadata.labels == OF_MP


async def test_a_shim_stays_an_owner_until_it_is_taken_away() -> None:
    first = settled(await made())
    shim = {"apiVersion": "v1", "kind": "Secret", "name": "c-shim", "uid": "s"}
    mine = {"apiVersion": "x/v1", "kind": "Secret", "name": "mine", "uid": "t"}
    assert first.infrastructure_cluster is not None
    first.infrastructure_cluster["metadata"]["ownerReferences"] = [*OWNER, mine, shim]
    again = await Asked(first).state(blueprint(first.cluster))
    assert again.infrastructure_cluster is not None
    assert again.infrastructure_cluster["metadata"]["ownerReferences"] == [shim]


NAMES: list[tuple[str, Document, Callable[[ClusterState], str]]] = [
    (
        "infra-c-",
        {
            "spec": {
                "infrastructure": {"naming": {"template": "infra-{{.cluster.name}}-{{.random}}"}}
            }
        },
        lambda state: (state.infrastructure_cluster or {})["metadata"]["name"],
    ),
    (
        "md-of-c-",
        deployment_class(
            naming={
                "template": "{{.machineDeployment.topologyName}}-of-{{.cluster.name}}-{{.random}}"
            }
        ),
        lambda state: state.machine_deployments["md"].object.metadata.name,
    ),
    (
        "mp-of-c-",
        pool_class(
            naming={
                "template": "{{ .machinePool.topologyName }}-of-{{ .cluster.name }}-{{ .random }}"
            }
        ),
        lambda state: state.machine_pools["mp"].object.metadata.name,
    ),
]


@pytest.mark.parametrize(("prefix", "of_class", "name"), NAMES)
async def test_names_of_created_objects_follow_the_class(
    prefix: str, of_class: Document, name: Callable[[ClusterState], str]
) -> None:
    text = name(await made(None, of_class))
    assert text.startswith(prefix)
    assert len(text) == len(prefix) + 5
    assert text == name(await made(None, of_class)), "a retry asks for the same name"
    other = await made({"metadata": {"uid": "another"}}, of_class)
    assert text != name(other)


async def test_names_that_are_too_long_are_cut() -> None:
    long = "n" * 60
    md = await the_deployment({**deployment(), "metadata": {"name": long}})
    assert len(md.metadata.name) == 63
    assert len(md.spec.template.spec.infrastructure_ref.name) == 63


@pytest.mark.parametrize(
    ("change", "of_class", "sentence"),
    [
        (
            deployment(**{"class": "gone"}),
            None,
            "failed to compute MachineDeployments: failed to compute MachineDepoyment for topology "
            '"md": MachineDeployment class gone not found in ClusterClass classes/klass',
        ),
        (
            pool(**{"class": "gone"}),
            None,
            'failed to compute MachinePools: failed to compute MachinePool for topology "mp": '
            "MachinePool class gone not found in ClusterClass classes/klass",
        ),
        (
            None,
            {"spec": {"infrastructure": {"naming": {"template": "{{ .nothing.here }}"}}}},
            "failed to compute InfrastructureCluster: rendering template: ",
        ),
        (
            None,
            {"spec": {"controlPlane": {"naming": {"template": "{{ open"}}}},
            'failed to compute ControlPlane: parsing template "{{ open": ',
        ),
    ],
)
async def test_an_impossible_desired_state_is_reported(
    change: Document | None, of_class: Document | None, sentence: str
) -> None:
    with pytest.raises(CannotCompute) as failure:
        await made(change, of_class)
    assert str(failure.value).startswith(sentence)


async def test_removed_workers_leave_their_templates_to_new_ones() -> None:
    first = settled(await made())
    going = first.machine_deployments["md"]
    going.object.metadata.uid = "going"
    before = going.object.spec.template.spec.infrastructure_ref.name
    going.bootstrap_template = going.infrastructure_machine_template = None
    again = await Asked(first).state(blueprint(first.cluster))
    result = again.machine_deployments["md"].object
    assert result.metadata.name == going.object.metadata.name
    assert result.spec.template.spec.infrastructure_ref.name != before


CHECKS = {"checks": {"nodeStartupTimeoutSeconds": 30}}
OTHER = {"remediation": {"triggerIf": {"unhealthyInRange": "[1-2]"}}}


WORD = st.sampled_from(["a", "b", "c"])
META = st.fixed_dictionaries(
    {}, optional={"labels": st.dictionaries(WORD, WORD), "annotations": st.dictionaries(WORD, WORD)}
)
WORKER = st.fixed_dictionaries(
    {"replicas": st.none() | st.integers(0, 5), "metadata": META},
    optional={
        "minReadySeconds": st.integers(0, 9),
        "failureDomain": WORD,
        "healthCheck": st.sampled_from([CHECKS, OTHER, {"enabled": False}]),
        "deletion": st.fixed_dictionaries({"nodeDrainTimeoutSeconds": st.integers(0, 9)}),
    },
)
TOPOLOGY = st.fixed_dictionaries(
    {
        "controlPlane": st.fixed_dictionaries(
            {"replicas": st.sampled_from([None, 1, 3]), "metadata": META}
        ),
        "workers": st.dictionaries(WORD, WORKER, max_size=3).map(
            lambda groups: {
                "machineDeployments": [
                    {"class": "small", "name": name, **group} for name, group in groups.items()
                ]
            }
        ),
    }
)


@settings(max_examples=40)
@given(TOPOLOGY, st.sampled_from(list(Version)))
async def test_a_reached_desired_state_is_stable(said: Document, contract: Version) -> None:
    change = topology(**said)
    first = await made(change, contract=contract)
    assert everything(first) == everything(await made(change, contract=contract))
    wanted = everything(first)
    again = await Asked(settled(first)).state(blueprint(first.cluster, contract=contract))
    assert everything(again) == wanted
