"""A plan asks extensions for what they would make of a Cluster, and tells nobody of its life."""

from __future__ import annotations

from typing import Any

from kapy.api.cluster_class import ClusterClass
from kapy.api.machine_deployment import MachineDeployment
from kapy.apps.plan.changes import RequestedChange
from kapy.apps.plan.plan_sources import ClusterSource
from kapy.apps.plan.planned import compute_plan
from kapy.apps.plan.report import as_document, as_text
from kapy.apps.settings import EMBEDDED_GATES
from kapy.conditions import is_true
from kapy.kube import yaml
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS
from kapy.testing.story import Story
from tests.hooks.extension import Extension, Network, config, waits
from tests.stories.plane import own_kinds, sample
from tests.stories.test_extensions import PATCHED, available, discovered, herder, running_with
from tests.stories.test_upgrades import CLASS, MIDDLE, NEW

VARIABLE = {
    "name": "herder",
    "required": True,
    "schema": {"openAPIV3Schema": {"type": "string", "default": "Ada"}},
}


def plan(request: dict[str, Any]) -> dict[str, Any]:
    versions = [
        text for text in (MIDDLE, NEW) if text > request["fromControlPlaneKubernetesVersion"]
    ]
    return {"controlPlaneUpgrades": [{"version": version} for version in versions]}


async def test_a_plan_calls_the_extensions_with_the_changed_objects() -> None:
    extension = Extension(
        generate=("GeneratePatches", herder),
        discover=("DiscoverVariables", {"variables": [VARIABLE]}),
        plan=("GenerateUpgradePlan", plan),
        upgrade=("BeforeClusterUpgrade", waits(1000)),
    )
    network = Network(ext=extension)
    *templates, meadow, herd = yaml.load_all(CLASS)
    external = {
        "generatePatchesExtension": "generate.ext",
        "discoverVariablesExtension": "discover.ext",
    }
    meadow["spec"]["patches"] = [{"name": "herder", "external": external}]
    del meadow["spec"]["kubernetesVersions"]
    meadow["spec"]["upgrade"] = {"external": {"generateUpgradePlanExtension": "plan.ext"}}
    async with running_with(network) as plane:
        story = Story(plane.client, [*own_kinds(), NAMESPACES, SECRETS, CONFIG_MAPS])
        await story.create([config("ext")])
        await discovered(story, "ext")
        await story.create([*templates, meadow])
        await story.until(
            ClusterClass,
            "meadow",
            lambda cluster_class: is_true(cluster_class.status.conditions, "VariablesReady"),
        )
        await story.create([herd])
        await available(story)
        herd["spec"]["topology"]["variables"] = [{"name": "herder", "value": "Grace"}]
        herd["spec"]["topology"]["version"] = NEW
        clock = plane.runtime.clock
        result = await compute_plan(
            ClusterSource(plane.client),
            [RequestedChange(herd)],
            clock=clock,
            gates=EMBEDDED_GATES,
            post=network,
        )
        assert list(result.problems.values()) == []
        (end,) = [
            obj for name, obj in result.objects.items() if name.kind.kind[7:] == "ControlPlane"
        ]
        assert end["spec"]["version"] == NEW
        assert end["metadata"]["labels"][PATCHED] == "Grace"
        assert "upgrade" not in extension.calls()
        extension.down = "EOF"
        failed = await compute_plan(
            ClusterSource(plane.client),
            [RequestedChange(herd)],
            clock=clock,
            gates=EMBEDDED_GATES,
            post=network,
        )
        assert 'handler "discover.ext"' in " ".join(failed.problems.values())


async def test_a_plan_names_the_extension_that_may_update_machines_in_place() -> None:
    """Whether that happens is decided when the rollout begins, so they count as replaced."""
    extension = Extension(
        set=("CanUpdateMachineSet", {}), machine=("CanUpdateMachine", {}), do=("UpdateMachine", {})
    )
    async with running_with(Network(ext=extension)) as plane:
        story = Story(plane.client, [*own_kinds(), NAMESPACES, SECRETS, CONFIG_MAPS])
        await story.create([config("ext")])
        await discovered(story, "ext")
        documents = sample()
        await story.create(documents)
        for document in documents:
            if document["kind"] == "MachineDeployment":
                name = document["metadata"]["name"]
                await story.until(
                    MachineDeployment,
                    name,
                    lambda deployment: is_true(deployment.status.conditions, "Available"),
                )
        requested = []
        for item in documents:
            if item["kind"] == "MachineDeployment":
                item["spec"]["template"]["spec"]["failureDomain"] = "zone-b"
                requested.append(RequestedChange(item))
            if item["kind"] == "KubeadmControlPlane":
                item["spec"]["rollout"] = {"after": "2020-01-01T00:00:00Z"}
                requested.append(RequestedChange(item))
        result = await compute_plan(
            ClusterSource(plane.client), requested, clock=plane.runtime.clock, gates=EMBEDDED_GATES
        )
        message = as_text(result)
        assert "      unless set.ext has them updated in place, which is asked when it begins" in (
            message
        )
        assert "machine.ext" not in message  # rollout.after is for those who want new Machines
        (rollout,) = [
            element
            for stage in as_document(result)["stages"]
            for element in stage["rollouts"]
            if element["kind"] == "MachineDeployment"
        ]
        assert rollout["mayBeUpdatedInPlaceBy"] == ["set.ext"]
        assert len(rollout["replaces"]) == 2
