"""Upgrades of a control plane: its Machines, CoreDNS and kube-proxy."""

from __future__ import annotations

import asyncio

import pytest

from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.kube import Document, Key
from kapy.kube.names import CONFIG_MAPS, DAEMON_SETS, DEPLOYMENTS
from kapy.providers.kubeadm.configuration import read_cluster_configuration
from tests.providers.kubeadm.awaiting import at, change, names, until
from tests.providers.kubeadm.peer_controllers import PeerControllers


async def test_an_upgrade_replaces_one_machine_at_a_time(peers: PeerControllers) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    await peers.plane.workload.create(DAEMON_SETS, _kube_proxy())
    old = {machine.metadata.name for machine in await peers.machines()}
    most: list[int] = []

    def upgraded(kcp: KubeadmControlPlane) -> bool:
        most.append(kcp.status.replicas or 0)
        return at(3, "v1.35.0")(kcp)

    await change(peers, {"version": "v1.35.0"})
    await until(peers, upgraded)
    assert set(most) <= {3, 4}
    machines = await peers.machines()
    assert not old & {machine.metadata.name for machine in machines}
    assert {machine.spec.version for machine in machines} == {"v1.35.0"}
    assert sorted(peers.etcd.members) == sorted(machine.metadata.name for machine in machines)
    assert peers.outlived == []
    workload = peers.plane.workload
    stored = await workload.get(CONFIG_MAPS, Key("kube-system", "kubeadm-config"))
    _, around = read_cluster_configuration(stored["data"]["ClusterConfiguration"])
    assert around.kubernetes_version == "v1.35.0"
    proxy = await workload.get(DAEMON_SETS, Key("kube-system", "kube-proxy"))
    (container,) = proxy["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.k8s.io/kube-proxy:v1.35.0"


@pytest.mark.parametrize("surge", [0, "0", '0"', "none"])
async def test_without_surge_a_machine_is_deleted_before_the_next_is_created(
    surge: int | str, peers: PeerControllers
) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    old = {machine.metadata.name for machine in await peers.machines()}
    rollout = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge}}}
    count = len(peers.plane.counted.requests)
    await change(peers, {"version": "v1.35.0", "rollout": rollout})
    await until(peers, at(3, "v1.35.0"))
    new = {machine.metadata.name for machine in await peers.machines()}
    steps: list[str] = []
    for request in peers.plane.counted.requests[count:]:
        verb, path = request.split(" ", 1)
        plural, name = path.split("?")[0].split("/")[-2:]
        if plural == "machines" and verb == "DELETE":
            assert name in old
            steps.append("gone")
        elif plural == "machines" and name in new:
            new.remove(name)
            steps.append("made")
    assert steps == ["gone", "made"] * 3


async def test_coredns_is_brought_to_the_version_that_is_asked_for(peers: PeerControllers) -> None:
    await peers.start()
    await until(peers, at(1))
    workload, key = peers.plane.workload, Key("kube-system", "coredns")
    config_map, deployment = _dns("registry.k8s.io/coredns/coredns:v1.11.3")
    await workload.create(CONFIG_MAPS, config_map)
    await workload.create(DEPLOYMENTS, deployment)
    dns = {"clusterConfiguration": {"dns": {"imageTag": "v1.13.1"}}}
    before = await names(peers)
    await change(peers, {"kubeadmConfigSpec": dns})
    await asyncio.sleep(5)
    now = await workload.get(DEPLOYMENTS, key)
    (container,) = now["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.k8s.io/coredns/coredns:v1.13.1"
    assert (await workload.get(CONFIG_MAPS, key))["data"] == {
        "Corefile": ".:53 {}",
        "Corefile-backup": ".:53 {}",
    }
    stored = await workload.get(CONFIG_MAPS, Key("kube-system", "kubeadm-config"))
    configuration, _ = read_cluster_configuration(stored["data"]["ClusterConfiguration"])
    assert configuration["dns"] == {"imageTag": "v1.13.1"}
    assert await names(peers) == before  # no machine is replaced for it


def _dns(image: str) -> list[Document]:
    """CoreDNS as kubeadm installs it."""
    labels = {"k8s-app": "kube-dns"}
    metadata = {"name": "coredns", "namespace": "kube-system"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "coredns", "image": image}]},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": {"Corefile": ".:53 {}"},
        },
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec},
    ]


def _kube_proxy() -> Document:
    labels = {"k8s-app": "kube-proxy"}
    container = {"name": "kube-proxy", "image": "registry.k8s.io/kube-proxy:v1.34.0"}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "kube-proxy", "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
