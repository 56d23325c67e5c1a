"""What plans say of changes on a running management plane."""

from __future__ import annotations

from copy import deepcopy

from kapy.apps.plan.differences import Verb
from kapy.apps.plan.report import as_text, summary
from kapy.kube import Document
from tests.apps.plan.meadow import cluster, plan_of, plane, sample, the


async def test_an_upgrade_is_told_stage_by_stage_with_the_machines() -> None:
    async with plane() as running:
        plan = await plan_of(running, [cluster(version="v1.35.0")])
        first, second = plan.stages
        assert [one.of.kind.kind for one in first.rollouts] == ["KubeadmControlPlane"]
        assert [one.of.kind.kind for one in second.rollouts] == ["MachineDeployment"]
        (replaced,) = first.rollouts[0].replaces
        assert replaced.because == ("Version v1.34.0, v1.35.0 required",)
        assert summary(plan)["machinesReplaced"] == 3
        text = as_text(plan)
        assert "Stage 2, when that is done" in text
        assert "spec.template.spec.version: v1.34.0 → v1.35.0" in text


async def test_a_field_names_the_patch_and_the_variable_it_comes_from() -> None:
    async with plane() as running:
        variables = [{"name": "startup", "value": {"vm": "5s"}}]
        plan = await plan_of(running, [cluster(variables=variables)])
        changes = [one for stage in plan.stages for one in stage.changes]
        fields = {
            one.path: one.because
            for change in changes
            if change.name.kind.kind == "DevMachineTemplate" and change.replaces
            for one in change.fields
        }
        path = "/spec/template/spec/backend/inMemory/vm/provisioning/startupDuration"
        assert fields[path] == ("patch startup definitions[0], variable startup.vm",)


async def test_a_change_of_a_class_is_told_for_each_of_its_clusters() -> None:
    documents = sample()
    other = the(documents, "Cluster")
    other["metadata"]["name"] = "second"
    async with plane([*documents, other]) as running:
        new = the(documents, "ClusterClass")
        workers = new["spec"]["workers"]["machineDeployments"][0]
        workers["metadata"] = {"labels": {"kind": "sheep"}}
        plan = await plan_of(running, [new])
        changed = {
            (one.name.kind.kind, one.after["spec"]["clusterName"])
            for stage in plan.stages
            for one in stage.changes
            if one.name.kind.kind == "MachineDeployment"
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
            one.name.kind.kind
            for stage in plan.stages
            for one in stage.changes
            if one.verb is Verb.DELETE
        ]
        assert {"Cluster", "KubeadmControlPlane", "MachineDeployment", "DevCluster"} <= {*deleted}
        assert "ClusterClass" not in deleted
        assert summary(plan)["machinesDeleted"] == 3


async def test_workers_that_are_replaced_on_deletion_wait_for_somebody() -> None:
    def with_strategy(version: str) -> Document:
        document = cluster(version=version)
        for one in document["spec"]["topology"]["workers"]["machineDeployments"]:
            one["rollout"] = {"strategy": {"type": "OnDelete"}}
        return document

    documents = [one for one in sample() if one["kind"] != "Cluster"]
    async with plane([*documents, with_strategy("v1.34.0")]) as running:
        plan = await plan_of(running, [with_strategy("v1.35.0")])
        (workers,) = (
            one
            for stage in plan.stages
            for one in stage.rollouts
            if one.of.kind.kind == "MachineDeployment"
        )
        assert workers.waits
        assert not workers.replaces
        assert "each is replaced when somebody deletes it" in as_text(plan)


async def test_a_paused_cluster_is_changed_and_nothing_follows() -> None:
    async with plane() as running:
        document = cluster(version="v1.35.0")
        document["spec"]["paused"] = True
        plan = await plan_of(running, [document])
        (stage,) = plan.stages
        assert [one.name.kind.kind for one in stage.changes] == ["Cluster"]
        assert not stage.rollouts


async def test_a_machine_deployment_without_a_class_is_foretold_too() -> None:
    async with plane() as running:
        made = next(
            one
            for one in (await plan_of(running, [cluster(version="v1.35.0")])).objects.values()
            if one["kind"] == "MachineDeployment"
        )
        plain = {
            "apiVersion": made["apiVersion"],
            "kind": made["kind"],
            "metadata": {"name": "plain", "namespace": "default"},
            "spec": deepcopy(made["spec"]),
        }
        plain["spec"] |= {"replicas": 2, "selector": {"matchLabels": {"p": "q"}}}
        plain["spec"]["template"]["metadata"] = {"labels": {"p": "q"}}
        plan = await plan_of(running, [plain])
        (rollout,) = (one for stage in plan.stages for one in stage.rollouts)
        assert (rollout.of.key.name, rollout.creates) == ("plain", 2)
