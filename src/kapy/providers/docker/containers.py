"""Containers of clusters: their names, labels and configuration, as upstream's manager makes them.

Pure. Because names and labels are equal, each manager can take over the containers of the other
one. Containers of kapy also have a label with the namespace of their Cluster; otherwise Clusters of
the same name in different namespaces would share containers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from kapy.api.infrastructure import Mount
from kapy.containers import LIMITS, Container, EngineInfo, NotPermitted, volume_of
from kapy.kube import Key
from kapy.kube.errors import KapyError
from kapy.providers.docker.ip_family import IPFamily

NETWORK: Final = "kind"
NETWORK_LABEL: Final = "io.x-k8s.kapy.network"
API_SERVER_PORT: Final = 6443
STATISTICS_PORT: Final = 8404
CLUSTER_LABEL: Final = "io.x-k8s.kind.cluster"
ROLE_LABEL: Final = "io.x-k8s.kind.role"
FAILURE_DOMAIN_LABEL: Final = "io.x-k8s.cluster.failureDomain"
NAMESPACE_LABEL: Final = "io.x-k8s.cluster.namespace"

Role = Literal["control-plane", "worker", "external-load-balancer"]
CONTROL_PLANE: Final[Role] = "control-plane"
WORKER: Final[Role] = "worker"
LOAD_BALANCER: Final[Role] = "external-load-balancer"

HAPROXY: Final = ("haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg")
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_USE_CGROUP_V2: Final = (
    "boot the machine with cgroup v2 (`systemd.unified_cgroup_hierarchy=1` on the kernel's "
    "command line)"
)
_SNAPSHOTTER: Final = "KIND_EXPERIMENTAL_CONTAINERD_SNAPSHOTTER"
"""Names the snapshotter of containerd to the entrypoint of node images, where the one that it
chooses does not work on the engine's file system."""
_SYSTEMD_OPTIONS: Final = "SYSTEMD_PROC_CMDLINE"
"""The variable that replaces the kernel's command line for systemd."""
_NAMED_HIERARCHY: Final = "systemd.legacy_systemd_cgroup_controller=1"
"""Lets systemd keep its units in the hierarchy `name=systemd` of cgroup v1."""
_NO_LIMIT: Final = -1
_INSIDE: Final = (".svc", ".svc.cluster", ".svc.cluster.local")


class BelongsToAnother(KapyError):
    """The name of a required container belongs to a container of another owner."""


def machine_container(cluster: str, machine: str) -> str:
    """Return the name of a machine's container, which is also the name of its Node."""
    return machine if machine.startswith(cluster) else f"{cluster}-{machine}"


def load_balancer_container(cluster: str) -> str:
    """Return the name of the container of a cluster's load balancer."""
    return f"{cluster}-lb"


def provider_id(container: str) -> str:
    """Return the provider ID of a machine."""
    return f"docker:////{container}"


def check_owner(container: Container, cluster: Key) -> Container:
    """Return the container if it belongs to the Cluster. Raises BelongsToAnother."""
    owner = container.labels.get(CLUSTER_LABEL)
    if owner is None:
        raise BelongsToAnother(
            f"a container named {container.name} exists that is not part of a cluster: remove or "
            f"rename it (`docker rename {container.name} …`)"
        )
    namespace = container.labels.get(NAMESPACE_LABEL, cluster.namespace)
    if (namespace, owner) != (cluster.namespace, cluster.name):
        raise BelongsToAnother(
            f"container {container.name} belongs to Cluster {namespace}/{owner}: Clusters on one "
            "container engine need different names; rename this one"
        )
    return container


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The inputs of a container's configuration besides the machine.

    environment: the environment of this program, for its proxies. subnets: the subnets of the
    network. runtime: the requested OCI runtime, "" for the engine's default. selinux: whether the
    host enforces SELinux.
    """

    engine: EngineInfo
    environment: Mapping[str, str] = field(default_factory=dict)
    subnets: Sequence[str] = ()
    runtime: str = ""
    selinux: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The specification of a container. cluster_subnets: the subnets of the cluster's Pods and
    Services, in CIDR notation.
    """

    name: str
    cluster: Key
    role: Role
    image: str
    ip_family: IPFamily = "IPv4"
    private_cgroups: bool = True
    labels: Mapping[str, str] = field(default_factory=dict)
    mounts: Sequence[Mount] = ()
    cluster_subnets: Sequence[str] = ()


def check_engine(wanted: Wanted, engine: EngineInfo) -> None:
    """Raise NotPermitted if the engine cannot run such a container."""
    if wanted.role == LOAD_BALANCER:
        return
    if engine.is_rootless:
        _check_rootless(engine)
    if wanted.private_cgroups and engine.is_podman and engine.cgroup_version == "1":
        raise NotPermitted(
            "Podman gives a container no cgroup namespace of its own on a machine with cgroup v1, "
            f"and a node needs one: {_USE_CGROUP_V2}, or use Docker"
        )


def _check_rootless(engine: EngineInfo) -> None:
    """The kubelet of a node has the cgroup controllers that the engine's user has."""
    if engine.cgroup_version == "1":
        raise NotPermitted(
            "a rootless engine runs nodes only on a machine with cgroup v2, and this one has "
            f"cgroup v1: {_USE_CGROUP_V2}, or use an engine that runs as root"
        )
    if missing := sorted(LIMITS - engine.limits):
        raise NotPermitted(
            f"the rootless engine's user may not limit {', '.join(missing)}, which a kubelet "
            "does: delegate the cgroup controllers to users (`Delegate=cpu cpuset io memory pids` "
            "in the section [Service] of /etc/systemd/system/user@.service.d/delegate.conf, then "
            "`systemctl daemon-reload`), log in again and start the engine again"
        )


def configuration(wanted: Wanted, around: Surroundings) -> dict[str, Any]:
    """Return the body of the request that creates the container."""
    is_balancer = wanted.role == LOAD_BALANCER
    ports = _ports(wanted)
    config: dict[str, Any] = {
        "Hostname": wanted.name,
        "Image": wanted.image,
        "Tty": True,
        "Labels": {
            CLUSTER_LABEL: wanted.cluster.name,
            ROLE_LABEL: wanted.role,
            NAMESPACE_LABEL: wanted.cluster.namespace,
            **wanted.labels,
        },
        "Env": list(_environment(wanted, around)),
        "Volumes": {} if around.engine.is_podman else {"/var": {}},
        "ExposedPorts": {port: {} for port in ports},
        "HostConfig": _host_config(wanted, around, ports),
    }
    if is_balancer:
        config["Entrypoint"] = list(HAPROXY)
    return config


def _host_config(
    wanted: Wanted, around: Surroundings, ports: Mapping[str, list[dict[str, str]]]
) -> dict[str, Any]:
    host: dict[str, Any] = {
        "Privileged": True,
        "SecurityOpt": ["seccomp=unconfined", "apparmor=unconfined"],
        "NetworkMode": NETWORK,
        "Tmpfs": {"/tmp": "", "/run": ""},
        "PortBindings": dict(ports),
        "RestartPolicy": {"Name": "on-failure", "MaximumRetryCount": 1},
        "Init": False,
        "Binds": list(_binds(wanted, around)),
    }
    if _is_private_node(wanted):
        host["CgroupnsMode"] = "private"
    if wanted.ip_family != "IPv4":
        host["Sysctls"] = {
            "net.ipv6.conf.all.disable_ipv6": "0",
            "net.ipv6.conf.all.forwarding": "1",
        }
    if around.engine.remaps_users:
        host["UsernsMode"] = "host"
    if around.engine.is_podman:
        # Its default is 2048 processes and threads, fewer than the Pods of a node may have.
        host["PidsLimit"] = _NO_LIMIT
    if around.engine.is_rootless:
        fuse = {"PathOnHost": "/dev/fuse", "PathInContainer": "/dev/fuse"}
        host["Devices"] = [{**fuse, "CgroupPermissions": "rw"}]
    if around.runtime:
        host["Runtime"] = around.runtime
    return host


def _is_private_node(wanted: Wanted) -> bool:
    """Return whether the container is a node with a cgroup namespace of its own."""
    return wanted.role != LOAD_BALANCER and wanted.private_cgroups


def _binds(wanted: Wanted, around: Surroundings) -> Iterable[str]:
    if around.engine.is_podman:
        yield f"{volume_of(wanted.name)}:/var:suid,exec,dev"
    if around.engine.storage_driver in ("btrfs", "zfs") and not around.engine.is_rootless:
        yield "/dev/mapper:/dev/mapper:ro"
    modules = Mount(container_path="/lib/modules", host_path="/lib/modules", read_only=True)
    for mount in (*wanted.mounts, modules):
        options = [*(["Z"] if around.selinux else []), *(["ro"] if mount.read_only else [])]
        bind = f"{mount.host_path}:{mount.container_path}"
        yield ":".join((bind, ",".join(options))) if options else bind


def _ports(wanted: Wanted) -> Mapping[str, list[dict[str, str]]]:
    """Ports of the host; the engine chooses which."""
    if wanted.role == CONTROL_PLANE:
        return {f"{API_SERVER_PORT}/tcp": [{"HostIp": "127.0.0.1", "HostPort": "0"}]}
    if wanted.role == LOAD_BALANCER:
        address = "::" if wanted.ip_family == "IPv6" else "0.0.0.0"
        free = {"HostIp": address, "HostPort": "0"}
        return {f"{port}/tcp": [free] for port in (API_SERVER_PORT, STATISTICS_PORT)}
    return {}


def _environment(wanted: Wanted, around: Surroundings) -> Iterable[str]:
    if wanted.role == CONTROL_PLANE:
        yield "KUBECONFIG=/etc/kubernetes/admin.conf"
    snapshotter = around.environment.get(_SNAPSHOTTER)
    if snapshotter and wanted.role != LOAD_BALANCER:
        yield f"{_SNAPSHOTTER}={snapshotter}"
    if _is_private_node(wanted) and around.engine.cgroup_version == "1":
        # systemd would prefer the cgroup2 hierarchy, of which an engine in a container on cgroup v1
        # gives nodes no part of their own: the units of all nodes would have the same cgroups.
        yield f"{_SYSTEMD_OPTIONS}={_NAMED_HIERARCHY}"
    for name, value in _proxies(wanted, around).items():
        yield f"{name}={value}"
        yield f"{name.lower()}={value}"


def _proxies(wanted: Wanted, around: Surroundings) -> Mapping[str, str]:
    """Return this program's proxy variables; `NO_PROXY` gets all addresses inside the cluster."""
    proxies = {
        name: value
        for name in _PROXIES
        if (value := around.environment.get(name) or around.environment.get(name.lower()))
    }
    if proxies:
        nodes = [*around.subnets, *wanted.cluster_subnets]
        direct = [*nodes, proxies.get("NO_PROXY", ""), wanted.name, *_INSIDE]
        proxies["NO_PROXY"] = ",".join(filter(None, direct))
    return proxies


def ensured_network() -> Mapping[str, Any]:
    """Return the configuration of the network of all nodes, where the engine has none yet."""
    return {
        "Driver": "bridge",
        "Options": {"com.docker.network.bridge.enable_ip_masquerade": "true"},
        "Labels": {NETWORK_LABEL: ""},
    }
