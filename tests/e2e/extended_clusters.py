"""Clusters beside the one that everybody watches: each shows what an extension makes of it."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any, Final

import yaml

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.dev_machine import DevMachine
from kapy.api.extension_config import ExtensionConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machines import is_updating_in_place
from kapy.conditions import is_true
from kapy.kube import Document, Key
from kapy.kube.model import encode
from kapy.testing.story import Story
from tests.core.topology.topology_story import cluster, part
from tests.e2e.shell import Shell
from tests.examples.test_in_memory_class import VALUES
from tests.examples.test_in_place_memory import FIELD
from tests.stories.released import RELEASE, released
from tests.stories.test_in_place import is_complete

WITHIN: Final = 60.0
OWNED: Final = {"example.com/owner": "herders"}
CLASS, BISON = "pasture", "bison"
REGISTRY: Final = {
    "name": "registry",
    "external": {
        "discoverVariablesExtension": "registry-variables.registry",
        "generatePatchesExtension": "registry-patches.registry",
        "validateTopologyExtension": "registry-check.registry",
    },
}
IN_PLACE: Final = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


async def has_variables(story: Story, name: str) -> None:
    """Wait until a class knows its variables, those of extensions too."""
    await story.until(
        ClusterClass,
        name,
        lambda cluster_class: is_true(cluster_class.status.conditions, "VariablesReady"),
        within=WITHIN,
    )


async def resized(story: Story) -> None:
    """A worker whose templates are patched by one extension, and that another one gives more
    memory: it stays."""
    field = {"spec": {"settings": {"field": FIELD}}}
    await story.client.patch(ExtensionConfig, Key("", "memory"), field)
    pasture = part("ClusterClass")
    pasture["metadata"]["name"] = CLASS
    pasture["spec"]["patches"].append(REGISTRY)
    await story.create([pasture])
    await has_variables(story, CLASS)
    await story.create([_bison()])
    name = f"{BISON}-md-0"
    await story.until(MachineDeployment, name, is_complete, within=WITHIN)
    before = await _worker(story)
    machine = await story.get(DevMachine, before.metadata.name)
    assert machine is not None
    assert machine.metadata.annotations["example.com/registry"] == "registry.example.com"

    await story.create([_larger()])
    workers = deepcopy(pasture["spec"]["workers"])
    workers["machineDeployments"][0]["infrastructure"]["templateRef"]["name"] = "larger"
    await story.merge(ClusterClass, CLASS, {"spec": {"workers": workers}})
    await story.until(DevMachine, before.metadata.name, _is_larger, within=WITHIN)
    await story.until(
        Machine, before.metadata.name, lambda value: not is_updating_in_place(value), within=WITHIN
    )
    await story.until(MachineDeployment, name, is_complete, within=WITHIN)
    assert (await _worker(story)).metadata.uid == before.metadata.uid


def _bison() -> Document:
    document = cluster(BISON, classRef={"name": CLASS})
    document["metadata"]["labels"] = OWNED
    (workers,) = document["spec"]["topology"]["workers"]["machineDeployments"]
    workers |= {"replicas": 1, "rollout": {"strategy": IN_PLACE}}
    return document


async def _worker(story: Story) -> Machine:
    (machine,) = [
        item
        for item in await story.all(Machine)
        if item.spec.cluster_name == BISON
        and item.metadata.labels.get("topology.cluster.x-k8s.io/deployment-name")
    ]
    return machine


def _larger() -> Document:
    template = part("DevMachineTemplate", "grazer")
    template["metadata"]["name"] = "larger"
    backend = template["spec"]["template"]["spec"]["backend"]["inMemory"]
    backend["vm"]["provisioning"]["startupDuration"] = "1s"
    return template


def _is_larger(machine: DevMachine) -> bool:
    spec: Any = encode(machine)["spec"]
    return bool(spec["backend"]["inMemory"]["vm"]["provisioning"]["startupDuration"] == "1s")


async def released_class(story: Story, shell: Shell) -> None:
    """Upstream's class, as it is released: one extension has its three handlers. Its machines take
    half a minute, which nobody waits for: how it is to be upgraded is asked by hand."""
    await story.create(released("clusterclass-in-memory.yaml", **VALUES))
    await has_variables(story, "in-memory")
    (document,) = released("cluster-template-in-memory-scale.yaml", **VALUES)
    document["metadata"]["labels"] = {**document["metadata"].get("labels", {}), **OWNED}
    await story.create([document])
    result = await story.until(
        Cluster, "quick", lambda value: value.spec.control_plane_ref is not None, within=WITHIN
    )
    assert result.spec.control_plane_ref is not None
    control_plane = await story.get(KubeadmControlPlane, result.spec.control_plane_ref.name)
    assert control_plane is not None
    configuration = control_plane.spec.kubeadm_config_spec.cluster_configuration
    assert configuration.image_repository == "kindest"

    request = {
        "cluster": document,
        "fromControlPlaneKubernetesVersion": "v1.34.0",
        "fromWorkersKubernetesVersion": "v1.34.0",
        "toKubernetesVersion": "v1.36.1",
    }
    (shell.home / "upgrade.json").write_text(json.dumps(request))
    call = ("kapy", "hooks", "call", "generate-upgrade-plan.scale", "--request", "upgrade.json")
    plan = yaml.safe_load(shell.ok(*call))
    steps = [{"version": "v1.35.0"}, {"version": "v1.36.1"}]
    assert (plan["status"], plan.get("controlPlaneUpgrades")) == ("Success", steps)


def is_released() -> bool:
    """Whether upstream's class is on this machine (`tests.absent` tells of it)."""
    return RELEASE.is_dir()
