"""The configuration of containers that the provider sends to the engine. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kapy.api.cluster import Cluster, ClusterNetwork, ClusterSpec, NetworkRanges
from kapy.api.infrastructure import Mount
from kapy.containers import Container, EngineInfo, NotPermitted
from kapy.kube import Key
from kapy.kube.meta import ObjectMeta
from kapy.kube.version import InvalidVersion
from kapy.providers.docker.containers import (
    BelongsToAnother,
    Surroundings,
    Wanted,
    check_engine,
    check_owner,
    configuration,
    machine_container,
)
from kapy.providers.docker.ip_family import BadNetwork, cluster_subnets, ip_family
from kapy.providers.docker.load_balancer_config import (
    Backend,
    BadLoadBalancerTemplate,
    Balancing,
    config_text,
    image_of,
)
from kapy.providers.docker.node_images import node_image
from kapy.providers.docker.nodes import node_patches
from kapy.sdk import Address

ENGINE = EngineInfo(name="e", version="1", storage_driver="overlay2")
BLUE = Key("default", "blue")
NODE = Wanted(name="blue-cp", cluster=BLUE, role="control-plane", image="i")


def configured(wanted: Wanted = NODE, **around: Any) -> dict[str, Any]:
    return configuration(wanted, Surroundings(**{"engine": ENGINE, **around}))


def test_a_control_plane_node_has_its_container_configuration() -> None:
    assert configured() == {
        "Hostname": "blue-cp",
        "Image": "i",
        "Tty": True,
        "Labels": {
            "io.x-k8s.kind.cluster": "blue",
            "io.x-k8s.kind.role": "control-plane",
            "io.x-k8s.cluster.namespace": "default",
        },
        "Env": ["KUBECONFIG=/etc/kubernetes/admin.conf"],
        "Volumes": {"/var": {}},
        "ExposedPorts": {"6443/tcp": {}},
        "HostConfig": {
            "Privileged": True,
            "SecurityOpt": ["seccomp=unconfined", "apparmor=unconfined"],
            "NetworkMode": "kind",
            "Tmpfs": {"/tmp": "", "/run": ""},
            "PortBindings": {"6443/tcp": [{"HostIp": "127.0.0.1", "HostPort": "0"}]},
            "RestartPolicy": {"Name": "on-failure", "MaximumRetryCount": 1},
            "Init": False,
            "Binds": ["/lib/modules:/lib/modules:ro"],
            "CgroupnsMode": "private",
        },
    }


def test_podman_is_asked_for_a_volume_with_devices() -> None:
    podman = EngineInfo(name="e", version="1", storage_driver="overlay", is_podman=True)
    document = configured(engine=podman)
    assert document["Volumes"] == {}
    assert document["HostConfig"]["Binds"][0] == "blue-cp-var:/var:suid,exec,dev"
    assert document["HostConfig"]["PidsLimit"] == -1, "Podman allows 2048 processes otherwise"


def test_podman_without_cgroup_namespaces_is_refused() -> None:
    def podman(version: str) -> EngineInfo:
        return EngineInfo(
            name="e",
            version="1",
            storage_driver="overlay",
            is_podman=True,
            cgroup_version=version,
        )

    check_engine(NODE, podman("2"))
    check_engine(NODE, ENGINE)
    check_engine(replace(NODE, role="external-load-balancer"), podman("1"))
    with pytest.raises(NotPermitted, match="boot the machine with cgroup v2"):
        check_engine(NODE, podman("1"))


@pytest.mark.parametrize(
    ("engine", "remedy"),
    [
        ({"cgroup_version": "1"}, "boot the machine with cgroup v2"),
        ({"limits": frozenset({"memory"})}, "may not limit cpu, pids.*Delegate=cpu"),
        ({"limits": frozenset()}, "may not limit cpu, memory, pids"),
    ],
)
def test_unusable_rootless_engines_are_refused(engine: dict[str, Any], remedy: str) -> None:
    rootless = replace(ENGINE, security=("name=rootless",), cgroup_version="2")
    check_engine(NODE, rootless)
    refused = replace(rootless, **engine)
    check_engine(NODE, replace(refused, security=()))
    check_engine(replace(NODE, role="external-load-balancer"), refused)
    with pytest.raises(NotPermitted, match=remedy):
        check_engine(NODE, refused)


def test_the_snapshotter_of_nodes_is_passed_on() -> None:
    setting = "KIND_EXPERIMENTAL_CONTAINERD_SNAPSHOTTER"
    for role, passed in (("worker", [f"{setting}=native"]), ("external-load-balancer", [])):
        wanted = Wanted(name="n", cluster=BLUE, role=role, image="i")  # type: ignore[arg-type]
        assert configured(wanted, environment={setting: "native"})["Env"] == passed
    assert setting not in str(configured(environment={setting: ""}))


def test_systemd_of_nodes_keeps_to_cgroup_v1() -> None:
    """Nodes of an engine in a container would have the same cgroups of cgroup2 otherwise."""
    option = "SYSTEMD_PROC_CMDLINE=systemd.legacy_systemd_cgroup_controller=1"

    def environment(wanted: Wanted, version: str) -> list[str]:
        engine = replace(ENGINE, cgroup_version=version)
        return [item for item in configured(wanted, engine=engine)["Env"] if "SYSTEMD" in item]

    assert environment(NODE, "1") == environment(replace(NODE, role="worker"), "1") == [option]
    assert environment(NODE, "2") == environment(NODE, "") == []
    assert environment(replace(NODE, role="external-load-balancer"), "1") == []
    assert environment(replace(NODE, private_cgroups=False), "1") == []


def test_extra_mounts_of_a_worker_are_labelled_for_selinux() -> None:
    mounts = [
        Mount(container_path="/var/run/docker.sock", host_path="/run/docker.sock"),
        Mount(container_path="/data", host_path="/srv", read_only=True),
    ]
    wanted = Wanted(
        name="w",
        cluster=BLUE,
        role="worker",
        image="i",
        mounts=mounts,
        private_cgroups=False,
        ip_family="DualStack",
        labels={"io.x-k8s.cluster.failureDomain": "a"},
    )
    document = configured(wanted, selinux=True, runtime="runc-nores")
    host = document["HostConfig"]
    assert host["Binds"] == [
        "/run/docker.sock:/var/run/docker.sock:Z",
        "/srv:/data:Z,ro",
        "/lib/modules:/lib/modules:Z,ro",
    ]
    assert host["Sysctls"]["net.ipv6.conf.all.disable_ipv6"] == "0"
    assert host["Runtime"] == "runc-nores"
    assert "CgroupnsMode" not in host
    assert (host["PortBindings"], document["Env"]) == ({}, [])
    assert document["Labels"]["io.x-k8s.cluster.failureDomain"] == "a"


def test_a_load_balancer_has_its_container_configuration() -> None:
    wanted = Wanted(name="b", cluster=BLUE, role="external-load-balancer", image="i")
    document = configured(wanted)
    assert document["Entrypoint"] == [
        "haproxy",
        "-W",
        "-db",
        "-f",
        "/usr/local/etc/haproxy/haproxy.cfg",
    ]
    free = [{"HostIp": "0.0.0.0", "HostPort": "0"}]
    assert document["HostConfig"]["PortBindings"] == {"6443/tcp": free, "8404/tcp": free}


@pytest.mark.parametrize(
    ("engine", "setting", "value"),
    [
        ({"security": ("name=userns",)}, "UsernsMode", "host"),
        (
            {"security": ("name=rootless",)},
            "Devices",
            [
                {
                    "PathOnHost": "/dev/fuse",
                    "PathInContainer": "/dev/fuse",
                    "CgroupPermissions": "rw",
                }
            ],
        ),
        (
            {"storage_driver": "zfs"},
            "Binds",
            ["/dev/mapper:/dev/mapper:ro", "/lib/modules:/lib/modules:ro"],
        ),
        (
            {"storage_driver": "btrfs", "security": ("name=rootless",)},
            "Binds",
            ["/lib/modules:/lib/modules:ro"],
        ),
    ],
)
def test_an_engine_gets_the_settings_that_it_needs(
    engine: dict[str, Any], setting: str, value: Any
) -> None:
    info = EngineInfo(**{"name": "", "version": "", "storage_driver": "overlay2", **engine})
    assert configured(engine=info)["HostConfig"][setting] == value


def test_proxies_are_passed_on_and_the_cluster_is_reached_without() -> None:
    environment = {"https_proxy": "http://proxy:3128", "NO_PROXY": "example.com"}
    networks = cluster_subnets(cluster(["192.168.0.0/16"], ["10.128.0.0/12", "fd00::/112"]))
    wanted = replace(NODE, cluster_subnets=networks)
    env = configured(wanted, environment=environment, subnets=["172.18.0.0/16"])["Env"]
    inside = "172.18.0.0/16,192.168.0.0/16,10.128.0.0/12,fd00::/112"
    direct = f"{inside},example.com,blue-cp,.svc,.svc.cluster,.svc.cluster.local"
    assert env[1:] == [
        "HTTPS_PROXY=http://proxy:3128",
        "https_proxy=http://proxy:3128",
        f"NO_PROXY={direct}",
        f"no_proxy={direct}",
    ]


def test_without_a_proxy_no_proxy_variables_are_set() -> None:
    wanted = replace(NODE, cluster_subnets=["192.168.0.0/16"])
    assert "PROXY" not in str(configured(wanted, environment={"PATH": "/bin"}))


def test_names_equal_those_of_upstream() -> None:
    assert machine_container("blue", "blue-md-0-x") == "blue-md-0-x"
    assert machine_container("blue", "worker") == "blue-worker"


def test_a_container_without_our_labels_is_owned_by_others() -> None:
    def container(**labels: str) -> Container:
        return Container(id="1", name="c", image="i", state="running", labels=labels)

    with pytest.raises(BelongsToAnother, match="not part of a cluster: remove or rename it"):
        check_owner(container(), BLUE)
    upstreams = container(**{"io.x-k8s.kind.cluster": "blue"})
    assert check_owner(upstreams, BLUE) is upstreams


@pytest.mark.parametrize(
    ("version", "custom", "name", "private"),
    [
        ("v1.36.1", "", "kindest/node:v1.36.1@sha256:3489c7674813", True),
        ("v1.36.3", "", "kindest/node:v1.36.3", True),
        ("v1.36.0", "", "kindest/node:v1.36.0", True),
        ("v1.99.0", "", "kindest/node:v1.99.0", True),
        ("v1.36.1+build.1", "", "kindest/node:v1.36.1@sha256:", True),
        ("v1.99.1+build.1", "", "kindest/node:v1.99.1_build.1", True),
        ("v1.36.1-rc.0", "", "kindest/node:v1.36.1-rc.0", True),
        ("v1.19.16", "", "kindest/node:v1.19.16@sha256:476cb3269232", False),
        ("v1.19.15", "", "kindest/node:v1.19.15", False),
        ("v1.36.1", "mine:1", "mine:1", True),
    ],
)
def test_a_version_has_its_node_image(version: str, custom: str, name: str, private: bool) -> None:
    image = node_image(version, custom)
    assert image.name.startswith(name)
    assert ("@" in image.name) is ("@" in name)
    assert image.has_private_cgroups is private


def test_a_known_custom_image_is_run_as_it_needs() -> None:
    image_name = node_image("v1.19.16").name
    assert not node_image("v1.36.1", image_name).has_private_cgroups


def test_an_invalid_version_is_refused() -> None:
    with pytest.raises(InvalidVersion):
        node_image("latest")


@pytest.mark.parametrize(
    ("pods", "services", "family"),
    [
        ([], [], "IPv4"),
        (["10.0.0.0/16"], ["10.1.0.0/16"], "IPv4"),
        (["fd00::/64"], [], "IPv6"),
        ([], ["fd00::/112"], "IPv6"),
        (["10.0.0.0/16", "fd00::/64"], ["10.1.0.0/16"], "DualStack"),
    ],
)
def test_the_ip_family_follows_the_cluster_network(
    pods: list[str], services: list[str], family: str
) -> None:
    assert ip_family(cluster(pods, services)) == family


@pytest.mark.parametrize(
    ("pods", "services", "message"),
    [
        (["10.0.0.0/16"], ["fd00::/112"], "mixes IP families"),
        (["10.0.0.0/99"], [], "pods.cidrBlocks"),
        (["10.0.0.0/16", "10.1.0.0/16", "10.2.0.0/16"], [], "it may have two"),
    ],
)
def test_inconsistent_cluster_networks_are_refused(
    pods: list[str], services: list[str], message: str
) -> None:
    with pytest.raises(BadNetwork, match=message):
        ip_family(cluster(pods, services))


def cluster(pods: list[str], services: list[str]) -> Cluster:
    network = ClusterNetwork(pods=NetworkRanges(pods), services=NetworkRanges(services))
    return Cluster(metadata=ObjectMeta(), spec=ClusterSpec(cluster_network=network))


def test_the_load_balancer_configuration_is_rendered() -> None:
    backends = {"b": Backend("172.18.0.4", 0), "a": Backend("fd00::3")}
    text = config_text(Balancing(port=7000, backends=backends))
    assert "  bind *:7000\n" in text
    assert "bind :::" not in text
    servers = [line.split()[1:5] for line in text.splitlines() if line.startswith("  server ")]
    assert servers == [
        ["a", "[fd00::3]:6443", "weight", "100"],
        ["b", "172.18.0.4:6443", "weight", "0"],
    ]
    assert "timeout tunnel" in text, "idle watches end with the other timeouts"
    settings = dict(line.split() for line in text.splitlines() if line.startswith("  srvtcpka-"))
    idle, interval = (int(settings[f"srvtcpka-{item}"].rstrip("s")) for item in ("idle", "intvl"))
    noticed = idle + interval * int(settings["srvtcpka-cnt"])
    assert noticed < 30, "connections to a machine that was killed stay open until kubelets ask"
    assert "  bind :::6443\n" in config_text(Balancing(ipv6=True))


def test_an_invalid_template_is_explained() -> None:
    with pytest.raises(BadLoadBalancerTemplate, match="customHAProxyConfigTemplateRef names"):
        config_text(Balancing(), "{{ .Nope")


def test_the_load_balancer_image_follows_the_spec() -> None:
    assert image_of("", "") == "kindest/haproxy:v20230606-42a2262b"
    assert image_of("registry.example.com/x", "2") == "registry.example.com/x/haproxy:2"


def test_a_node_that_needs_nothing_is_left_alone() -> None:
    node = {"metadata": {"name": "n"}, "spec": {"providerID": "docker:////n"}}
    assert node_patches(node, "docker:////n", [Address("InternalIP", "10.0.0.1")]) == (None, None)


def test_a_node_keeps_the_order_of_its_addresses() -> None:
    taint = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"}
    has = [{"type": "InternalIP", "address": "10.0.0.9"}]
    node = {"metadata": {"name": "n"}, "spec": {"taints": [taint]}, "status": {"addresses": has}}
    addresses = [
        Address("Hostname", "n"),
        Address("InternalIP", "10.0.0.1"),
        Address("ExternalIP", "10.0.0.1"),
        Address("InternalIP", "10.0.0.9"),
    ]
    main, status = node_patches(node, "docker:////n", addresses)
    assert main is not None
    assert main["spec"] == {"providerID": "docker:////n", "taints": None}
    added = {"type": "InternalIP", "address": "10.0.0.1"}
    assert status == {"status": {"addresses": [*has, added]}}
