"""Upstream's in-memory ClusterClass, unchanged, with an example behind its three handlers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import EMBEDDED_GATES, ControllerConfig, Settings
from kapy.conditions import is_true
from kapy.engine.options import ManagerOptions
from kapy.kube import Key
from kapy.testing.extension import InProcess
from kapy.testing.story import Story
from tests.core.topology.topology_story import is_settled
from tests.examples.test_extensions import example
from tests.hooks.extension import config
from tests.stories.plane import own_kinds
from tests.stories.released import released

TAINTS = Settings(
    controllers=ControllerConfig(
        manager=ManagerOptions(
            gates=replace(EMBEDDED_GATES, runtime_sdk=True, machine_taint_propagation=True)
        )
    )
)
VALUES = {
    "CLUSTER_NAME": "quick",
    "WORKER_MACHINE_COUNT": "1",
    "EXTENSION_CONFIG_NAME": "scale",
    "DOCKER_POD_CIDRS": "192.168.0.0/16",
    "DOCKER_SERVICE_CIDRS": "10.128.0.0/12",
    "DOCKER_SERVICE_DOMAIN": "cluster.local",
}


@pytest.mark.parametrize(
    ("which", "through"), [("topology", []), ("scale", ["v1.35.0", "v1.36.1"])]
)
async def test_clusters_of_the_class_become_ready_and_follow_the_upgrade_plan(
    which: str, through: list[str]
) -> None:
    post = InProcess(scale=example("in_memory_class"))
    clock = loop_clock()
    async with management_plane(TAINTS, clock=clock, random=Random(0), post=post) as plane:
        story = Story(plane.client, own_kinds())
        await story.create([config("scale")])
        await story.create(released("clusterclass-in-memory.yaml", **VALUES))
        await story.until(
            ClusterClass,
            "in-memory",
            lambda cluster_class: is_true(cluster_class.status.conditions, "VariablesReady"),
        )
        await story.create(released(f"cluster-template-in-memory-{which}.yaml", **VALUES))
        await story.until(Cluster, "quick", is_settled)
        (control_plane,) = await story.all(KubeadmControlPlane)
        name = control_plane.metadata.name
        strategy = control_plane.spec.rollout.strategy
        assert strategy is not None
        configuration = control_plane.spec.kubeadm_config_spec.cluster_configuration
        assert (strategy.rolling_update.max_surge, configuration.image_repository) == (1, "kindest")
        if through:
            topology = {"spec": {"topology": {"version": through[-1]}}}
            await story.client.patch(Cluster, Key("default", "quick"), topology)
        for version in through:
            await story.until(KubeadmControlPlane, name, partial(_is_at, version))
        await story.until(Cluster, "quick", is_settled)
        reached = through[-1] if through else "v1.34.0"
        assert {machine.spec.version for machine in await story.all(Machine)} == {reached}


def _is_at(version: str, control_plane: KubeadmControlPlane) -> bool:
    return control_plane.spec.version == version
