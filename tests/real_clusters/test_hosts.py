"""Clusters on machines of one's own, which are containers with OpenSSH: `make test-hosts`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest
from kapy_hosts.kinds import Host, KubeVIP

from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from tests.real_clusters.host_containers import holders, import_image, set_cable, traces
from tests.real_clusters.host_setup import LONG, Setup, named, setup
from tests.real_clusters.image_archive import Start, layer, write_image
from tests.real_clusters.life import PATIENCE
from tests.real_clusters.parts import NEW, OLD

pytestmark = pytest.mark.sockets


async def test_three_hosts_carry_two_clusters_one_after_the_other(tmp_path: Path) -> None:
    async with setup(tmp_path, ["cp-1", "worker-1", "worker-2"]) as hosts:
        endpoint = f"{{controlPlaneEndpoint: {{host: {hosts.addresses['cp-1']}, port: 6443}}}}"
        values = {
            "ENDPOINT": endpoint,
            "CONTROL_PLANES": "1",
            "WORKERS": "2",
            "CONTROL_PLANE_LABELS": "{role: cp}",
            "WORKER_LABELS": "{role: worker}",
        }
        for name in ("blue", "green"):
            await hosts.create(name, **values)
            nodes = await hosts.nodes(name)
            assert len(nodes) == 3
            assert all(node["spec"]["providerID"].startswith("hosts://") for node in nodes)
            await hosts.delete(name)


async def test_seven_hosts_carry_a_cluster_through_its_life_and_then_another(
    tmp_path: Path,
) -> None:
    names = ["balancer-1", *(f"node-{number}" for number in range(1, 7))]
    async with setup(tmp_path, names) as hosts:
        values = {
            "ENDPOINT": "{haproxy: {hostSelector: {matchLabels: {role: balancer}}}}",
            "CONTROL_PLANES": "3",
            "WORKERS": "2",
            "CONTROL_PLANE_LABELS": "{role: node}",
            "WORKER_LABELS": "{role: node}",
            "INSTALL": '{folder: "/opt/kubernetes/{version}"}',
        }
        await hosts.create("blue", **values)
        await hosts.runs("blue", OLD, 5)
        for workers in (3, 2):
            scaled = {"spec": {"replicas": workers}}
            await hosts.plane.merge(MachineDeployment, "blue-workers", scaled)
            await hosts.runs("blue", OLD, 3 + workers)
        await _lose_a_host(hosts)
        configuration = {
            "etcd": {"local": {"imageTag": NEW.etcd}},
            "dns": {"imageTag": NEW.coredns},
        }
        before = await hosts.plane.all(Machine)
        await hosts.plane.merge(
            KubeadmControlPlane,
            "blue",
            {
                "spec": {
                    "version": NEW.version,
                    "kubeadmConfigSpec": {"clusterConfiguration": configuration},
                }
            },
        )
        await hosts.plane.until(KubeadmControlPlane, "blue", _is_upgraded, within=LONG)
        hosts.done("the control plane is upgraded")
        version = {"spec": {"template": {"spec": {"version": NEW.version}}}}
        await hosts.plane.merge(MachineDeployment, "blue-workers", version)
        await hosts.runs("blue", NEW, 5)
        after = {machine.metadata.uid for machine in await hosts.plane.all(Machine)}
        assert after.isdisjoint(machine.metadata.uid for machine in before)
        await hosts.delete("blue")
        await hosts.create("green", **{**values, "WORKERS": "3"})
        await hosts.runs("green", OLD, 6)
        claims = [(await hosts.host(name)).spec.claim for name in names]
        assert None not in claims
        await hosts.delete("green")


KUBE_VIP: Final = os.environ.get("KAPY_KUBE_VIP", "")
"""A program of kube-vip, which no module proxy has: `CGO_ENABLED=0 go build` in its repository."""


@pytest.mark.skipif(not KUBE_VIP, reason="KAPY_KUBE_VIP names no program of kube-vip")
async def test_kube_vip_moves_the_address_of_the_control_plane(tmp_path: Path) -> None:
    names = ["cp-1", "cp-2", "cp-3"]
    async with setup(tmp_path, names) as hosts:
        image = KubeVIP().image
        archive = tmp_path / "kube-vip.tar"
        with archive.open("wb") as target:
            write_image(target, image, [layer({"kube-vip": Path(KUBE_VIP)})], Start(("/kube-vip",)))
        for name in names:
            await import_image(hosts.engine, name, archive)
        address = f"{hosts.addresses['cp-1'].rpartition('.')[0]}.200"
        endpoint = f"controlPlaneEndpoint: {{host: {address}, port: 6443}}"
        await hosts.create(
            "blue",
            ENDPOINT=f"{{{endpoint}, kubeVIP: {{interface: eth0}}}}",
            CONTROL_PLANES="3",
            WORKERS="0",
            CONTROL_PLANE_LABELS="{role: cp}",
            WORKER_LABELS="{role: worker}",
        )
        await hosts.runs("blue", OLD, 3)
        [first] = await holders(hosts.engine, names, address)
        await set_cable(hosts.engine, first, "down")
        await hosts.until_answers("blue")
        others = [name for name in names if name != first]
        [_] = await holders(hosts.engine, others, address)
        hosts.done(f"{first} was cut off, and another host has {address}")
        await set_cable(hosts.engine, first, "up")
        await hosts.runs("blue", OLD, 3)
        await hosts.delete("blue")
        assert await holders(hosts.engine, names, address) == []


async def _lose_a_host(hosts: Setup) -> None:
    """A worker whose host is cut off is replaced on the spare one; the host comes back clean."""
    check = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineHealthCheck",
        "metadata": named("workers"),
        "spec": {
            "clusterName": "blue",
            "selector": {"matchLabels": {"role": "worker"}},
            "checks": {
                "unhealthyNodeConditions": [
                    {"type": "Ready", "status": "Unknown", "timeoutSeconds": 5}
                ]
            },
        },
    }
    await hosts.plane.create([check])
    claims = {name: (await hosts.host(name)).spec.claim for name in hosts.addresses}
    [spare] = [name for name, claim in claims.items() if claim is None]
    lost, claim = next(
        (name, claim)
        for name, claim in claims.items()
        if claim is not None and claim.name.startswith("blue-workers")
    )
    assert claim is not None
    await set_cable(hosts.engine, lost, "down")
    await hosts.plane.until_gone(Machine, claim.name, within=PATIENCE)
    await hosts.plane.until(
        Host, lost, lambda host: host.status.state == "Quarantined", within=PATIENCE
    )
    await hosts.runs("blue", OLD, 5)
    assert (await hosts.host(spare)).spec.claim is not None
    hosts.done(f"{lost} was cut off, and its worker is replaced on {spare}")
    await set_cable(hosts.engine, lost, "up")
    await hosts.plane.until(Host, lost, lambda host: host.status.state == "Free", within=PATIENCE)
    assert await traces(hosts.engine, lost) == ""
    hosts.done(f"{lost} answers again, and is clean")


def _is_upgraded(control_plane: KubeadmControlPlane) -> bool:
    counts = {
        control_plane.status.replicas,
        control_plane.status.available_replicas,
        control_plane.status.up_to_date_replicas,
    }
    return (
        counts == {3}
        and control_plane.status.version == NEW.version
        and control_plane.status.observed_generation == control_plane.metadata.generation
    )
