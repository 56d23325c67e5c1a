"""Tests of plans for changes on a running management plane."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import deepcopy

import pytest

from kapy.api.cluster import Cluster
from kapy.apps.plan.applying import server_side_manager
from kapy.apps.plan.changes import ChangeRefused, RequestedChange
from kapy.apps.plan.differences import Verb
from kapy.apps.plan.plan_sources import ClusterSource
from kapy.apps.plan.planned import compute_plan
from kapy.apps.plan.report import as_text, summary
from kapy.apps.settings import EMBEDDED_GATES
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.apply.last_applied import ANNOTATION as LAST_APPLIED
from kapy.kube.http import Reply, Request, Transport
from tests.apps.plan.planning import LONG, apply, cluster, graph, plan_of, plane, sample, the


async def test_an_upgrade_is_reported_stage_by_stage_with_the_machines() -> None:
    async with plane() as running:
        plan = await plan_of(running, [cluster(version="v1.35.0")])
        first, second = plan.stages
        assert [rollout.name.kind.kind for rollout in first.rollouts] == ["KubeadmControlPlane"]
        assert [rollout.name.kind.kind for rollout in second.rollouts] == ["MachineDeployment"]
        (replaced,) = first.rollouts[0].replaces
        assert replaced.reasons == ("Version v1.34.0, v1.35.0 required",)
        assert summary(plan)["machinesReplaced"] == 3
        text = as_text(plan)
        assert "Stage 2, when that is done" in text
        assert "spec.template.spec.version: v1.34.0 → v1.35.0" in text


async def test_a_field_names_the_patch_and_the_variable_it_comes_from() -> None:
    async with plane() as running:
        variables = [{"name": "startup", "value": {"vm": "5s"}}]
        plan = await plan_of(running, [cluster(variables=variables)])
        changes = [change for stage in plan.stages for change in stage.changes]
        fields = {
            field.path: field.causes
            for change in changes
            if change.name.kind.kind == "DevMachineTemplate" and change.replaces
            for field in change.fields
        }
        path = "/spec/template/spec/backend/inMemory/vm/provisioning/startupDuration"
        assert fields[path] == ("patch startup definitions[0], variable startup.vm",)


async def test_a_change_of_a_class_is_reported_for_each_of_its_clusters() -> None:
    documents = sample()
    other = the(documents, "Cluster")
    other["metadata"]["name"] = "second"
    async with plane([*documents, other]) as running:
        new = the(documents, "ClusterClass")
        workers = new["spec"]["workers"]["machineDeployments"][0]
        workers["metadata"] = {"labels": {"kind": "sheep"}}
        plan = await plan_of(running, [new])
        changed = {
            (change.name.kind.kind, change.after["spec"]["clusterName"])
            for stage in plan.stages
            for change in stage.changes
            if change.name.kind.kind == "MachineDeployment"
        }
        assert changed == {
            ("MachineDeployment", "capybara-herd"),
            ("MachineDeployment", "second"),
        }
        assert summary(plan)["machinesReplaced"] == 0, "labels are taken over in place"


async def test_a_deletion_takes_everything_along() -> None:
    async with plane() as running:
        plan = await plan_of(running, [the(sample(), "Cluster")], delete=True)
        deleted = [
            change.name.kind.kind
            for stage in plan.stages
            for change in stage.changes
            if change.verb is Verb.DELETE
        ]
        assert {"Cluster", "KubeadmControlPlane", "MachineDeployment", "DevCluster"} <= {*deleted}
        assert "ClusterClass" not in deleted
        assert summary(plan)["machinesDeleted"] == 3


async def test_workers_that_are_removed_take_their_templates_along() -> None:
    grown = sample()
    for document in grown:
        if document["kind"] == "Cluster":
            extra = {"class": "grazer", "name": "extra", "replicas": 1}
            document["spec"]["topology"]["workers"]["machineDeployments"].append(extra)
    async with plane(grown) as running:
        plan = await plan_of(running, sample())
        names = {
            change.name
            for stage in plan.stages
            for change in stage.changes
            if change.verb is Verb.DELETE
        }
        before = graph(running)
        await apply(running, sample())
        await asyncio.sleep(LONG)
        keys = before.keys() - graph(running).keys()
        assert {group_kind for group_kind in before if group_kind not in plan.objects} == keys
        of_machines = {"Machine", "MachineSet", "DevMachine", "KubeadmConfig"}
        assert names == {
            group_kind for group_kind in keys if group_kind.kind.kind not in of_machines
        }
        assert {"DevMachineTemplate", "KubeadmConfigTemplate"} < {
            group_kind.kind.kind for group_kind in names
        }


async def test_workers_with_the_on_delete_strategy_wait_for_a_user() -> None:
    def with_strategy(version: str) -> Document:
        document = cluster(version=version)
        for deployment in document["spec"]["topology"]["workers"]["machineDeployments"]:
            deployment["rollout"] = {"strategy": {"type": "OnDelete"}}
        return document

    documents = [document for document in sample() if document["kind"] != "Cluster"]
    async with plane([*documents, with_strategy("v1.34.0")]) as running:
        plan = await plan_of(running, [with_strategy("v1.35.0")])
        (workers,) = (
            rollout
            for stage in plan.stages
            for rollout in stage.rollouts
            if rollout.name.kind.kind == "MachineDeployment"
        )
        assert workers.waits_for_user
        assert not workers.replaces
        assert "each is replaced when somebody deletes it" in as_text(plan)


async def test_a_paused_cluster_is_changed_and_nothing_follows() -> None:
    async with plane() as running:
        document = cluster(version="v1.35.0")
        document["spec"]["paused"] = True
        plan = await plan_of(running, [document])
        (stage,) = plan.stages
        assert [change.name.kind.kind for change in stage.changes] == ["Cluster"]
        assert not stage.rollouts


async def test_a_machine_deployment_without_a_class_is_predicted_too() -> None:
    async with plane() as running:
        obj = next(
            document
            for document in (await plan_of(running, [cluster(version="v1.35.0")])).objects.values()
            if document["kind"] == "MachineDeployment"
        )
        plain = {
            "apiVersion": obj["apiVersion"],
            "kind": obj["kind"],
            "metadata": {"name": "plain", "namespace": "default"},
            "spec": deepcopy(obj["spec"]),
        }
        plain["spec"] |= {"replicas": 2, "selector": {"matchLabels": {"p": "q"}}}
        plain["spec"]["template"]["metadata"] = {"labels": {"p": "q"}}
        plan = await plan_of(running, [plain])
        (rollout,) = (item for stage in plan.stages for item in stage.rollouts)
        assert (rollout.name.key.name, rollout.creates) == ("plain", 2)


def with_pool() -> list[Document]:
    """The sample, with a pool of two machines beside its MachineDeployment."""
    documents = sample()
    machines = the(documents, "DevMachineTemplate", "meadow-grazer")["spec"]["template"]["spec"]
    template = {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "DevMachinePoolTemplate",
        "metadata": {"name": "flock", "namespace": "default"},
        "spec": {"template": {"spec": {"backend": machines["backend"]}}},
    }
    for document in documents:
        if document["kind"] == "ClusterClass":
            grazer = document["spec"]["workers"]["machineDeployments"][0]
            ref = {key: template[key] for key in ("apiVersion", "kind")} | {"name": "flock"}
            flock = {"bootstrap": grazer["bootstrap"], "infrastructure": {"templateRef": ref}}
            document["spec"]["workers"]["machinePools"] = [{"class": "flock", **flock}]
            for patch in document["spec"]["patches"]:
                for definition in patch["definitions"]:
                    definition["selector"]["matchResources"].pop("machinePoolClass", None)
        if document["kind"] == "Cluster":
            pool = {"class": "flock", "name": "mp-0", "replicas": 2}
            document["spec"]["topology"]["workers"]["machinePools"] = [pool]
    return [template, *documents]


async def test_a_machine_pool_is_left_to_its_provider_and_its_cluster_continues() -> None:
    async with plane(with_pool()) as running:
        wanted = the(with_pool(), "Cluster")
        wanted["spec"]["topology"]["version"] = "v1.35.0"
        plan = await plan_of(running, [wanted])
        assert plan.problems == {}
        rollouts = [rollout for stage in plan.stages for rollout in stage.rollouts]
        assert [(rollout.name.kind.kind, rollout.by_provider) for rollout in rollouts] == [
            ("KubeadmControlPlane", False),
            ("MachineDeployment", False),
            ("MachinePool", True),
        ]


async def test_a_refusal_by_the_management_cluster_is_a_problem_of_the_plan() -> None:
    def refuse(request: Request) -> Reply | None:
        if request.query.get("dryRun") and "kubeadmcontrolplanes" in request.path:
            status = {"kind": "Status", "message": "policy: not on Fridays", "code": 403}
            return Reply(403, status)
        return None

    async with plane() as running:
        world = ClusterSource(Client(refusing(running.transport, refuse)))
        requested = [RequestedChange(cluster(version="v1.35.0"))]
        plan = await compute_plan(
            world, requested, clock=running.runtime.clock, gates=EMBEDDED_GATES
        )
        (problem,) = plan.problems.items()
        assert problem[0].kind.kind == "KubeadmControlPlane"
        assert problem[1] == "would be refused: policy: not on Fridays"


def refusing(transport: Transport, refuse: Callable[[Request], Reply | None]) -> Transport:
    async def ask(request: Request) -> Reply:
        return refuse(request) or await transport(request)

    return ask


async def test_an_object_that_was_modified_since_it_was_read_is_read_again_first() -> None:
    async with plane() as running:
        live = next(
            document for document in graph(running).values() if document["kind"] == "Cluster"
        )
        read = deepcopy(live)
        assert (await plan_of(running, [read])).is_empty
        read["metadata"]["resourceVersion"] = "1"
        with pytest.raises(
            ChangeRefused, match="its resourceVersion is 1, but the object has been"
        ):
            await plan_of(running, [read])


async def test_built_in_kinds_are_planned_without_the_content_of_secrets() -> None:
    def documents(value: str) -> list[Document]:
        here = {"name": "notes", "namespace": "default"}
        return [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": here, "data": {"a": value}},
            {"apiVersion": "v1", "kind": "Secret", "metadata": here, "data": {"a": value}},
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "meadow", "namespace": "default", "labels": {"a": value}},
            },
        ]

    async with plane() as running:
        plan = await plan_of(running, documents("b25l"))
        (stage,) = plan.stages
        assert {change.verb for change in stage.changes} == {Verb.CREATE}
        assert len(stage.changes) == 3
        assert plan.problems == {}
        await apply(running, documents("b25l"))
        assert (await plan_of(running, documents("b25l"))).is_empty
        text = as_text(await plan_of(running, documents("dHdv")))
        assert "data.a: b25l → dHdv" in text, "of the ConfigMap"
        assert "data.a: *** (before) → *** (after)" in text
        assert text.count("dHdv") == 2, "and of the Namespace"


async def test_annotations_of_others_stay_after_a_client_side_apply() -> None:
    async with plane() as running:
        assert (await plan_of(running, sample())).is_empty
        key = Key.of(cluster())
        await running.client.patch(
            Cluster.RESOURCE, key, {"metadata": {"annotations": {"foreign": "1"}}}
        )
        assert (await plan_of(running, sample())).is_empty


@pytest.mark.parametrize(
    ("managers", "annotated", "expected"),
    [
        ([], False, None),
        ([("kubectl-client-side-apply", "Update")], True, None),
        ([("kubectl", "Apply")], False, "kubectl"),
        ([("kubectl", "Apply")], True, "kubectl"),
        ([("kubectl", "Apply"), ("kubectl-client-side-apply", "Update")], True, None),
        ([("kubectl-create", "Update"), ("argo", "Apply")], False, None),
        ([("kubectl-patch", "Update"), ("argo", "Apply")], False, "argo"),
        ([("capi-topology", "Apply"), ("argo", "Apply")], False, "argo"),
        ([("flux", "Apply"), ("argo", "Apply")], False, None),
        ([("capi-topology", "Apply")], False, None),
    ],
)
def test_the_method_of_the_last_apply_is_found(
    managers: list[tuple[str, str]], annotated: bool, expected: str | None
) -> None:
    live = {
        "metadata": {
            "managedFields": [{"manager": text, "operation": how} for text, how in managers],
            "annotations": {LAST_APPLIED: "{}"} if annotated else {},
        }
    }
    assert server_side_manager(live) == expected
