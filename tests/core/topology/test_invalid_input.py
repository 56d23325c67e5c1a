"""Tests of invalid ClusterClasses and topologies.

Admission refuses them, or the condition TopologyReconciled reports the error. No change is
applied in part, and other clusters are not affected.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.dev_cluster import DevCluster
from kapy.api.machine_deployment import MachineDeployment
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError
from tests.core.topology.topology_story import (
    CLUSTER,
    WORKERS,
    TopologyStory,
    class_objects,
    cluster,
    empty_plane,
    part,
    plane_with_cluster,
    reconciled,
    workers,
)


def patch_of(*operations: Document, kind: str = "DevMachineTemplate") -> Document:
    """A patch of the workers' templates."""
    selector = {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": kind,
        "matchResources": {"machineDeploymentClass": {"names": ["grazer"]}},
    }
    definition = {"selector": selector, "jsonPatches": list(operations)}
    return {"name": "broken", "definitions": [definition]}


STARTUP = "/spec/template/spec/backend/inMemory/vm/provisioning/startupDuration"
REFUSED_TEMPLATE = (
    patch_of({"op": "replace", "path": STARTUP, "value": "soon"}),
    ["failed to create DevMachineTemplate.infrastructure.cluster.x-k8s.io: ", "startupDuration"],
)
PATCHES: dict[str, tuple[Document, list[str]]] = {
    "nowhere": (
        patch_of({"op": "remove", "path": "/spec/template/spec/nowhere"}),
        ["ClusterClass default/nowhere", "broken", "/spec/template/spec/nowhere"],
    ),
    "no-value": (
        patch_of(
            {
                "op": "replace",
                "path": STARTUP,
                "valueFrom": {"template": "{{ .nodeLabels.pasture.deep }}"},
            }
        ),
        ["ClusterClass default/no-value", "broken", "nodeLabels.pasture.deep"],
    ),
    "unsteady": (
        patch_of(
            {
                "op": "replace",
                "path": STARTUP,
                "valueFrom": {"template": '{{ genPrivateKey "rsa" | len }}s{{ randInt 1 9 }}'},
            }
        ),
        ["ClusterClass default/unsteady", "broken", "differs each time it is rendered", "randInt"],
    ),
    "endless": (
        patch_of(
            {
                "op": "replace",
                "path": STARTUP,
                "valueFrom": {
                    "template": "{{ range until 99999 }}{{ range until 99999 }}{{ end }}{{ end }}"
                },
            }
        ),
        ["ClusterClass default/endless", "broken", "takes too long"],
    ),
    "refused": REFUSED_TEMPLATE,
}
"""Patches that admission lets through, and what is told when they are used; by their class."""


async def test_a_patch_that_does_not_work_is_reported_and_changes_nothing() -> None:
    async with empty_plane() as story:
        await story.create(class_objects())
        for name, (patch, _) in PATCHES.items():
            other = part("ClusterClass")
            other["metadata"]["name"] = name
            other["spec"]["patches"].append(patch)
            await story.create([other, cluster(f"of-{name}", classRef={"name": name})])
        await story.create([cluster()])
        for name, (_, messages) in PATCHES.items():
            message = await story.told("ReconcileFailed", f"of-{name}")
            assert [word for word in messages if word not in message] == [], message
        await story.until_settled()
        assert not [
            name for name in await story.versions() if "/of-" in name and name[:8] != "Cluster/"
        ]
        # Put right, it goes on.
        patches = {"spec": {"patches": part("ClusterClass")["spec"]["patches"]}}
        await story.merge(ClusterClass, "refused", patches)
        await story.until_settled("of-refused")


async def test_a_class_change_that_does_not_work_leaves_its_clusters_as_they_are() -> None:
    async with plane_with_cluster() as story:
        before = await story.versions()
        patches = [*part("ClusterClass")["spec"]["patches"], REFUSED_TEMPLATE[0]]
        await story.merge(ClusterClass, "meadow", {"spec": {"patches": patches}})
        message = await story.told("ReconcileFailed")
        assert f"failed to reconcile MachineDeployment default/{WORKERS}" in message
        await story.settle()
        after = await story.versions()
        changed = {name for name in after if after[name] != before.get(name)}
        assert changed == {f"Cluster/{CLUSTER}", "ClusterClass/meadow"}
        await a_vanished_template_is_told(story)
        await what_no_topology_made_is_not_touched(story)


async def a_vanished_template_is_told(story: TopologyStory) -> None:
    before = await story.versions()
    path = "apis/bootstrap.cluster.x-k8s.io/v1beta2/namespaces/default/kubeadmconfigtemplates"
    await story.client.raw("DELETE", f"/{path}/meadow-grazer")
    await story.topology(workers=workers(("md-0", 3)))
    await story.settle()
    message = await story.told("ReconcileFailed")
    assert message.startswith(
        "error reading the ClusterClass: failed to get bootstrap config template for "
        'ClusterClass default/meadow, MachineDeployment class "grazer": failed to retrieve '
        "KubeadmConfigTemplate default/meadow-grazer: "
    )
    after = await story.versions()
    assert after[f"MachineDeployment/{WORKERS}"] == before[f"MachineDeployment/{WORKERS}"]
    await story.create([part("KubeadmConfigTemplate", "grazer")])
    patches = {"spec": {"patches": part("ClusterClass")["spec"]["patches"]}}
    await story.merge(ClusterClass, "meadow", patches)
    await story.until_settled()


async def what_no_topology_made_is_not_touched(story: TopologyStory) -> None:
    unlabelled = {"metadata": {"labels": {"topology.cluster.x-k8s.io/owned": None}}}
    await story.merge(DevCluster, CLUSTER, unlabelled)
    assert await story.told("ReconcileFailed") == (
        "error reading current state of the Cluster topology: DevCluster default/capybara "
        "referenced from Cluster default/capybara is not topology owned"
    )


def _without_template(documents: list[Document]) -> list[Document]:
    return [
        document
        for document in documents
        if document["metadata"]["name"] != "meadow-grazer"
        or document["kind"] != "DevMachineTemplate"
    ]


async def test_a_template_that_is_not_there_is_reported_and_waited_for() -> None:
    async with empty_plane() as story:
        await story.create([*_without_template(class_objects()), cluster()])
        await story.told("ReconcileFailed")
        cluster_class = await story.get(ClusterClass, "meadow")
        assert cluster_class is not None
        date = {condition.type: condition for condition in cluster_class.status.conditions}[
            "RefVersionsUpToDate"
        ]
        assert (date.status, date.reason) == ("Unknown", "InternalError")
        assert date.message == (
            "DevMachineTemplate default/meadow-grazer (infrastructure.cluster.x-k8s.io/v1beta2) "
            "does not exist"
        )
        await story.create([part("DevMachineTemplate", "grazer")])
        await story.until_settled()


async def test_values_and_workers_are_checked_again_when_the_class_comes_after_the_cluster() -> (
    None
):
    async with empty_plane() as story:
        wrong = [{"name": "nodeLabels", "value": {"pasture": 7}}, {"name": "herd", "value": 1}]
        strange = workers(("md-0", 1))
        strange["machineDeployments"][0]["class"] = "browser"
        await story.create([cluster(variables=wrong), cluster("strange", workers=strange)])
        await story.told("ReconcileFailed")
        await story.create(class_objects())
        await story.settle()
        result = await story.get(Cluster, CLUSTER)
        assert result is not None
        condition = reconciled(result)
        assert condition is not None
        assert condition.message.startswith('Cluster.cluster.x-k8s.io "capybara" is invalid: ')
        assert "spec.topology.variables[herd]" in condition.message
        message = await story.told("ReconcileFailed", "strange")
        assert "MachineDeployment class browser not found in ClusterClass default/meadow" in message
        assert not await story.all(MachineDeployment)
        await story.topology(variables=[{"name": "nodeLabels", "value": {}}])
        await story.until_settled()


def _topology(change: Callable[[Document], Any]) -> Document:
    document = cluster()
    change(document["spec"]["topology"])
    return document


REFUSED = [
    (lambda top: top.update(version="1.x"), "spec.topology.version"),
    (lambda top: top["workers"]["machineDeployments"][0].update({"class": "x"}), '"x" does not'),
    (lambda top: top.update(variables=[{"name": "v", "value": 1}]), "variables[v]"),
    (
        lambda top: top.update(variables=[{"name": "nodeLabels", "value": {"a": 1}}]),
        "spec.topology.variables[nodeLabels]",
    ),
]


async def test_admission_refuses_an_invalid_topology_with_its_path() -> None:
    async with empty_plane() as story:
        await story.create(class_objects())
        await story.settle(1)
        for change, message in REFUSED:
            with pytest.raises(ApiError) as caught:
                await story.create([_topology(change)])
            assert message in str(caught.value)
        await story.create([cluster()])
        for spec, text in (
            ({"workers": None}, 'MachineDeploymentClass "grazer" cannot be deleted'),
            (
                {"infrastructure": {"templateRef": {"kind": "DockerClusterTemplate"}}},
                "spec.infrastructure.templateRef.kind",
            ),
        ):
            with pytest.raises(ApiError) as caught:
                await story.merge(ClusterClass, "meadow", {"spec": spec})
            assert text in str(caught.value)
        with pytest.raises(ApiError, match="used by Cluster"):
            await story.client.delete(ClusterClass, Key("default", "meadow"))
        other = deepcopy(part("ClusterClass"))
        other["metadata"]["name"] = "other"
        other["spec"]["infrastructure"]["templateRef"]["kind"] = "DockerClusterTemplate"
        await story.create([other])
        with pytest.raises(ApiError) as caught:
            await story.topology(classRef={"name": "other"})
        assert "spec.infrastructure.templateRef.kind" in str(caught.value)


async def test_an_unexpected_error_is_not_reported_as_a_reconciled_topology(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    async with empty_plane() as story:
        await story.create(class_objects())
        await story.settle(1)
        with monkeypatch.context() as patched:
            patched.setattr("kapy.core.topology.reconcile.plan_of", fail)
            await story.create([cluster()])
            await story.settle(1)
            assert reconciled(await story.until(Cluster, CLUSTER, bool)) is None
        assert (await story.condition()).status == "True"
