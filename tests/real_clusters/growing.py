"""Chapters of a cluster's life: it is made, and scaled out and in."""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.api.names import ConditionType
from kapy.conditions import is_true
from kapy.kube import Document
from kapy.kube.names import CONFIG_MAPS
from tests.real_clusters.life import ROLE, Life
from tests.real_clusters.parts import HERE, OLD, Release


def manifest(release: Release) -> str:
    """The objects of a cluster of one control plane machine and one worker."""
    text = (HERE / "cluster.yaml").read_text()
    values = {"VERSION": release.version, "ETCD": release.etcd, "COREDNS": release.coredns}
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def network() -> Document:
    """The ConfigMap of which a ClusterResourceSet makes the cluster's network."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "network", "namespace": "default"},
        "data": {"network.yaml": (HERE / "network.yaml").read_text()},
    }


async def create(life: Life) -> None:
    """One control plane machine and one worker, on which a Pod runs."""
    await life.client.create(CONFIG_MAPS, network())
    await life.story.create(manifest(OLD))
    await life.until(
        Cluster, "real", lambda value: is_true(value.status.conditions, ConditionType.AVAILABLE)
    )
    life.done("1 + 1 machines, from nothing to Available")
    nodes = await life.nodes()
    assert len(nodes) == 2
    for node in nodes:
        assert node["spec"]["providerID"] == f"docker:////{node['metadata']['name']}"
        assert node["status"]["nodeInfo"]["kubeletVersion"] == OLD.version
    pod = await life.pod_runs("hello")
    (worker,) = await life.machines(ROLE)
    assert pod["spec"]["nodeName"] == life.node_of(worker)
    life.done("a Pod runs")


async def grow(life: Life) -> None:
    """More workers, which join at the same time."""
    await life.scale_workers(3)
    life.done("workers 1 to 3")


async def shrink(life: Life) -> None:
    """One worker is enough."""
    await life.scale_workers(1)
    life.done("workers 2 to 1")


async def grow_control_plane(life: Life) -> None:
    """Three members of etcd, and three servers behind the load balancer."""
    await life.scale_control_plane(3)
    life.done("control plane 1 to 3")
    assert await _servers(life) == {life.node_of(machine) for machine in await life.control_plane()}


async def shrink_control_plane(life: Life) -> None:
    """One member of etcd again, and one server behind the load balancer."""
    await life.scale_control_plane(1)
    life.done("control plane 3 to 1")
    assert await _servers(life) == {life.node_of(machine) for machine in await life.control_plane()}


async def _servers(life: Life) -> set[str]:
    """The servers in the load balancer's configuration."""
    command_result = await life.engine.run("real-lb", ["cat", "/usr/local/etc/haproxy/haproxy.cfg"])
    lines = (line.split() for line in command_result.stdout.splitlines())
    return {words[1] for words in lines if words[:1] == ["server"]}
