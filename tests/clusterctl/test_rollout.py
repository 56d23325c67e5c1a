"""Rollouts are paused, resumed and restarted as upstream's command does."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.times import stamp
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import Settings
from kapy.client.client import Client
from kapy.clusterctl.rollout import RolloutError, Target, pause, restart, resume, targets
from kapy.kube import Document, Key

DEPLOYMENT = Target("machinedeployment", "md")
CONTROL_PLANE = Target("kubeadmcontrolplane", "cp")


def template(**more: object) -> Document:
    return {
        "clusterName": "none",
        "bootstrap": {"dataSecretName": "boot"},
        "infrastructureRef": {
            "apiGroup": "infrastructure.cluster.x-k8s.io",
            "kind": "DevMachineTemplate",
            "name": "t",
        },
        **more,
    }


async def objects(client: Client) -> None:
    metadata = {"namespace": "default", "annotations": {"kept": "yes"}}
    labels = {"matchLabels": {"a": "b"}}
    await client.create(
        MachineDeployment.RESOURCE,
        {
            "apiVersion": MachineDeployment.RESOURCE.api_version,
            "kind": "MachineDeployment",
            "metadata": {**metadata, "name": "md"},
            "spec": {
                "clusterName": "none",
                "selector": labels,
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": template()},
            },
        },
    )
    infrastructure = template()["infrastructureRef"]
    await client.create(
        KubeadmControlPlane.RESOURCE,
        {
            "apiVersion": KubeadmControlPlane.RESOURCE.api_version,
            "kind": "KubeadmControlPlane",
            "metadata": {**metadata, "name": "cp"},
            "spec": {
                "version": "v1.34.0",
                "kubeadmConfigSpec": {"format": "cloud-config"},
                "machineTemplate": {"spec": {"infrastructureRef": infrastructure}},
            },
        },
    )


@pytest.mark.parametrize(
    ("target", "way_out"),
    [
        (DEPLOYMENT, "run rollout resume first"),
        (CONTROL_PLANE, "remove annotation 'cluster.x-k8s.io/paused' first"),
    ],
    ids=str,
)
async def test_a_rollout_can_be_paused_resumed_and_restarted(target: Target, way_out: str) -> None:
    clock = loop_clock()
    async with management_plane(Settings(), clock=clock) as plane:
        client, kind = plane.client, target.kind.__name__
        await objects(client)

        async def read() -> Document:
            return await client.get(target.kind.RESOURCE, Key("default", target.name))

        with pytest.raises(RolloutError, match=f"{kind} is not currently paused: {target}"):
            await resume(client, "default", target)
        await pause(client, "default", target)
        with pytest.raises(RolloutError, match=f"{kind} is already paused: {target}"):
            await pause(client, "default", target)
        paused = await read()
        is_annotated = "cluster.x-k8s.io/paused" in paused["metadata"]["annotations"]
        assert is_annotated == (target is CONTROL_PLANE)
        assert paused["spec"].get("paused", False) == (target is DEPLOYMENT)
        with pytest.raises(RolloutError, match=f"can't restart paused {kind} .{way_out}"):
            await restart(clock())(client, "default", target)

        await resume(client, "default", target)
        now = clock()
        await restart(now)(client, "default", target)
        restarted = await read()
        assert restarted["spec"]["rollout"]["after"] == stamp(now)
        assert restarted["metadata"]["annotations"]["kept"] == "yes"
        with pytest.raises(RolloutError, match=r"remove 'spec.rollout.after' first"):
            await restart(now - timedelta(hours=1))(client, "default", target)

        with pytest.raises(RolloutError, match=f"failed to fetch {target.word}/none: failed to"):
            await pause(client, "default", Target(target.word, "none"))


def test_resources_are_named_in_any_case() -> None:
    assert targets(["MachineDeployment/MD", "kubeadmcontrolplane/cp"]) == [
        DEPLOYMENT,
        CONTROL_PLANE,
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "required resource not specified"),
        (["machinedeployment", "md"], "arguments must be in resource/name format"),
        (["machinedeployment", "machinedeployment/md"], "no need for a resource type"),
        (["machinedeployment/a/b"], "may not have more than one slash"),
        (["machinedeployment/"], "must have a single resource and name"),
        (["md/x"], 'invalid resource type "md", valid values are [machinedeployment kubeadm'),
    ],
)
def test_arguments_without_a_target_are_refused(arguments: list[str], said: str) -> None:
    with pytest.raises(RolloutError) as error:
        targets(arguments)
    assert said in str(error.value)
