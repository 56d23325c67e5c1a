"""The endpoint of a cluster: given, by haproxy on a Host, by kube-vip."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from kapy_hosts import remote
from kapy_hosts.boot_steps import archive
from kapy_hosts.endpoints import haproxy_config, kube_vip_pod, kube_vip_steps
from kapy_hosts.kinds import Host, HostCluster, KubeVIP
from simulated_hosts.simulated_host import SimulatedHost, SimulatedShell
from simulated_hosts.stories import setup

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.client import Invalid, Key
from kapy.testing import on_virtual_time


@on_virtual_time
async def test_haproxy_is_configured_before_the_control_plane_and_removed_with_the_cluster() -> None:
    haproxy = {"hostSelector": {"matchLabels": {"role": "balancer"}}, "port": 8443}
    async with setup(cluster={"haproxy": haproxy}) as blue:
        balancer = await blue.add_host("balancer")
        await blue.plane.client.patch(Host, Key("default", "balancer"), {"metadata": {"labels": {"role": "balancer"}}})
        host_cluster = await blue.plane.until(
            HostCluster, "blue", lambda current: current.spec.control_plane_endpoint.host
        )
        endpoint = host_cluster.spec.control_plane_endpoint
        assert (endpoint.host, endpoint.port) == ("balancer.example.com", 8443)
        assert "bind *:8443" in balancer.config
        for name in ("one", "two"):
            await blue.add_host(name)
            await blue.add_machine(name, control_plane=True)
            await blue.provisioned(name)
        machines = {name: (await blue.provisioned(name)).status.host for name in ("one", "two")}
        for name, host in machines.items():
            assert f"server {name} {host}.example.com:6443 check" in balancer.config
        await blue.plane.client.delete(Machine, Key("default", "one"))
        await blue.state(machines["one"], "Free")
        await blue.plane.until(HostCluster, "blue", lambda _: "server one " not in balancer.config)
        await blue.plane.client.delete(Machine, Key("default", "two"))
        await blue.plane.client.delete(Cluster, Key("default", "blue"))
        await blue.state("balancer", "Free")
        assert balancer.claim == ""


@on_virtual_time
async def test_failure_domains_follow_the_current_hosts() -> None:
    def reports(*names: str) -> Callable[[HostCluster], bool]:
        return lambda current: tuple(domain.name for domain in current.status.failure_domains) == names

    async with setup() as blue:
        await blue.plane.until(HostCluster, "blue", lambda current: current.status.initialization.provisioned)
        await blue.add_host("one", failureDomain="rack-1")
        await blue.plane.until(HostCluster, "blue", reports("rack-1"))
        await blue.add_host("two", failureDomain="rack-2")
        await blue.plane.until(HostCluster, "blue", reports("rack-1", "rack-2"))
        await blue.plane.client.delete(Host, Key("default", "one"))
        await blue.plane.until(HostCluster, "blue", reports("rack-2"))


@on_virtual_time
async def test_a_cluster_without_an_endpoint_says_what_to_do() -> None:
    async with setup(cluster={}) as blue:
        await blue.plane.until(
            HostCluster,
            "blue",
            lambda current: any(
                "give the address of the API server" in each.message for each in current.status.conditions
            ),
        )


@on_virtual_time
async def test_kube_vip_needs_an_address_and_no_haproxy() -> None:
    with pytest.raises(Invalid, match="the free address that kube-vip is to serve"):
        async with setup(cluster={"kubeVIP": {}}):
            pass
    both = {"kubeVIP": {}, "haproxy": {}, "controlPlaneEndpoint": {"host": "10.0.0.9", "port": 6443}}
    with pytest.raises(Invalid, match="keep one of both"):
        async with setup(cluster=both):
            pass


def test_addresses_of_version_6_are_in_brackets() -> None:
    assert "server one [fd00::1]:6443 check" in haproxy_config([("one", "fd00::1")], 6443)


@pytest.mark.parametrize(
    ("version", "first", "file"),
    [
        ("v1.28.9", True, "admin.conf"),
        ("v1.29.0", True, "super-admin.conf"),
        ("v1.36.2", True, "super-admin.conf"),
        ("v1.36.2", False, "admin.conf"),
    ],
)
def test_kube_vip_uses_the_admin_kubeconfig_of_its_version(version: str, first: bool, file: str) -> None:
    pod = json.loads(kube_vip_pod(KubeVIP(interface="eth1"), "10.0.0.9", 6443, version, first=first))
    [volume] = pod["spec"]["volumes"]
    assert volume["hostPath"]["path"] == f"/etc/kubernetes/{file}"
    environment = {
        variable["name"]: variable.get("value") or variable["valueFrom"]
        for variable in pod["spec"]["containers"][0]["env"]
    }
    assert environment["vip_nodename"] == {"fieldRef": {"fieldPath": "spec.nodeName"}}
    assert (environment["address"], environment["vip_interface"], environment["vip_subnet"]) == (
        "10.0.0.9",
        "eth1",
        "32",
    )


async def test_the_address_of_kube_vip_is_removed_with_the_machine() -> None:
    host = SimulatedHost()
    try:
        shell = SimulatedShell(host)
        host.path("address").write_text(
            "2: eth0    inet 10.0.0.9/24 scope global eth0\\  valid_lft forever\n"
            "2: eth0    inet 10.0.0.9/32 scope global eth0\\  valid_lft forever\n"
        )
        await remote.claim(shell, "u1", "plane", "default/one")
        steps = kube_vip_steps(KubeVIP(), "10.0.0.9", 6443, "v1.36.2", first=True)
        await remote.start_boot(shell, "u1", archive(steps))
        assert (await remote.progress(shell, "u1")).state == "finished"
        manifest = host.path("/etc/kubernetes/manifests/kube-vip.yaml")
        assert json.loads(manifest.read_text())["kind"] == "Pod"
        assert await remote.release(shell, "u1") == []
        assert not manifest.exists()
        assert [call for call in host.calls if call.startswith("ip address delete")] == [
            "ip address delete 10.0.0.9/32 dev eth0"
        ]
    finally:
        host.close()
