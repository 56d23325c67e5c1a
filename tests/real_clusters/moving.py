"""Chapters of a cluster's life: another plane looks after it, and then the cluster itself.

In the cluster itself kapy's managers run as Pods. The one that makes containers has the engine's
socket, which each node has from its own machine (`extraMounts`).
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.names import Annotation, ConditionType
from kapy.apps.all_in_one import ManagementPlane
from kapy.apps.manager.programs import PROGRAMS
from kapy.client.client import Client
from kapy.client.kubeconfig import Kubeconfig, with_context
from kapy.conditions import is_true
from kapy.kube import Key
from kapy.kube.names import DEPLOYMENTS, NODES, PODS
from kapy.kube.yaml import dump
from tests.real_clusters.life import CLUSTER, PATIENCE, ROLE, WORKERS, Life
from tests.real_clusters.managers_image import IMAGE, build_image

SOCKET: Final = "/var/run/docker.sock"
"""The engine's socket on each node."""
_TYPES: Final = {
    "core": "CoreProvider",
    "bootstrap-kubeadm": "BootstrapProvider",
    "control-plane-kubeadm": "ControlPlaneProvider",
    "infrastructure-dev": "InfrastructureProvider",
}


async def move_to(life: Life, first: ManagementPlane, second: ManagementPlane) -> None:
    """Another plane looks after the cluster, whose containers stay as they are."""
    containers = {container.id for container in await life.engine.containers()}
    machines = {machine.metadata.name for machine in await life.machines()}
    await _move(_saved(life, "first", first.kubeconfig), _saved(life, "second", second.kubeconfig))
    assert not (await first.client.list(Cluster)).items
    await _is_looked_after(life, second.client)
    assert {container.id for container in await life.engine.containers()} == containers
    assert {machine.metadata.name for machine in await life.machines()} == machines
    life.done("moved to another plane")


async def host_itself(life: Life, second: ManagementPlane) -> None:
    """The managers run in the cluster, which then scales itself, and loses one of the machines
    that they run on."""
    await build_image(life.engine)
    life.done("make image")
    await _make_room(life)
    life.done("the worker is replaced by one with the image and the engine's socket")
    config = await _release(life)
    source, itself = life.folder / "second.kubeconfig", await life.workload()
    pivot = ("pivot", "real", "--kubeconfig", source, "--config", config)
    rehearsed = await kapy(*pivot, "--dry-run")
    assert rehearsed == "", "a rehearsal tells its steps on standard error"
    assert not (await itself.list(DEPLOYMENTS, labels="cluster.x-k8s.io/provider")).items
    message = await kapy(*pivot, "--wait-provider-timeout", "600")
    assert message.startswith("real manages itself now.\n"), message
    assert "`kapy delete --all --include-crd --include-namespace --kubeconfig" in message
    assert not (await second.client.list(Cluster)).items
    await _is_looked_after(life, itself)
    life.done("kapy pivot: four managers run as Pods of the cluster, and look after it")
    assert await kapy(*pivot) == message, "what is done is not done again"

    await life.scale_workers(2)
    life.done("the cluster scales itself: workers 1 to 2")
    await _lose_a_host(life)

    back = await kapy(*pivot, "--back")
    assert back.startswith("This management cluster looks after real again.\n"), back
    await _is_looked_after(life, second.client)
    life.done("kapy pivot --back")


async def _make_room(life: Life) -> None:
    """Workers that have the managers' image and the engine's socket; nothing else takes Pods."""
    docker = {
        "preLoadImages": [IMAGE],
        "extraMounts": [
            {"hostPath": life.engine.address.removeprefix("unix://"), "containerPath": SOCKET}
        ],
    }
    template = {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "DevMachineTemplate",
        "metadata": {"name": "hosts", "namespace": "default"},
        "spec": {"template": {"spec": {"backend": {"docker": docker}}}},
    }
    await life.story.create([template])
    reference = {"template": {"spec": {"infrastructureRef": {"name": "hosts"}}}}
    before = {item.metadata.name for item in await life.machines(ROLE)}
    await life.story.merge(MachineDeployment, WORKERS, {"spec": reference})
    for name in before:
        await life.story.until_gone(Machine, name, within=PATIENCE)
    await life.workers_are(len(before))
    client = await life.workload()
    for machine in await life.control_plane():
        key = Key("", life.node_of(machine))
        await client.patch(NODES, key, {"spec": {"unschedulable": True}})


async def _release(life: Life) -> Path:
    """A release of kapy's managers; the configuration that names it."""
    release = life.folder / "release"
    providers = []
    for name, kind in _TYPES.items():
        socket = ("--engine-socket", SOCKET) if name == "infrastructure-dev" else ()
        message = await kapy("components", name, "--release", release, "--image", IMAGE, *socket)
        url = next(line for line in message.splitlines() if line.endswith("-components.yaml"))
        label = PROGRAMS[name].provider.removeprefix("bootstrap-").removeprefix("control-plane-")
        providers.append(
            {"name": label.removeprefix("infrastructure-"), "type": kind, "url": f"file://{url}"}
        )
    config = life.folder / "clusterctl.yaml"
    config.write_text(dump({"providers": providers}))
    return config


async def _lose_a_host(life: Life) -> None:
    """The machine goes whose node most managers run on, drained and deleted by themselves."""
    client = await life.workload()
    pods = (await client.list(PODS, labels="control-plane=controller-manager")).items
    nodes = [pod["spec"].get("nodeName", "") for pod in pods]
    workers = await life.machines(ROLE)
    chosen = max(workers, key=lambda worker: nodes.count(life.node_of(worker)))
    hosted = nodes.count(life.node_of(chosen))
    wish = {"metadata": {"annotations": {Annotation.DELETE_MACHINE: "yes"}}}
    await life.story.merge(Machine, chosen.metadata.name, wish)
    await life.resize_workers(1)
    await life.story.until_gone(Machine, chosen.metadata.name, within=PATIENCE)
    await life.workers_are(1)
    assert await life.engine.container(life.node_of(chosen)) is None
    life.done(f"workers 2 to 1: the machine goes on which {hosted} of the managers ran")


async def _move(source: Path, target: Path) -> None:
    await kapy("move", "--kubeconfig", source, "--to-kubeconfig", target, "-n", "default")


async def _is_looked_after(life: Life, client: Client) -> None:
    """Wait until the cluster is available, as the management plane of that client tells."""
    life.client = client

    def holds(cluster: Cluster) -> bool:
        messages = (ConditionType.AVAILABLE, ConditionType.REMOTE_CONNECTION_PROBE)
        return not cluster.spec.paused and all(
            is_true(cluster.status.conditions, type_) for type_ in messages
        )

    await life.until(Cluster, CLUSTER.name, holds)


def _saved(life: Life, name: str, access: Kubeconfig | None) -> Path:
    """A kubeconfig file."""
    assert access is not None
    path = life.folder / f"{name}.kubeconfig"
    path.write_text(dump(with_context({}, name, access)))
    return path


async def kapy(*arguments: str | Path) -> str:
    """Run a command of kapy, and return what it says."""
    environment = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
    command = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kapy.cli.main", *map(str, arguments)),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, problems = await command.communicate()
    assert command.returncode == 0, f"{arguments}: {problems.decode()[-3000:]}"
    return out.decode()
