"""The kinds of the provider: the CRDs are generated from these classes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar, Final

from msgspec import field

from kapy.sdk import (
    AGE,
    Column,
    Condition,
    InfraClusterSpec,
    InfraClusterStatus,
    InfraMachinePoolSpec,
    InfraMachinePoolStatus,
    InfraMachineSpec,
    InfraMachineStatus,
    KindRules,
    Model,
    Object,
    Resource,
    Rulebook,
    resource,
    rules,
    template_of,
)
from kapy.sdk.field_errors import FieldError, forbidden, invalid, required

GROUP: Final = "infrastructure.cluster.x-k8s.io"
VERSION: Final = "v1alpha1"
MOVE: Final = "clusterctl.cluster.x-k8s.io/move"
"""Objects with this label are moved with the clusters of their namespace."""
_KEY_TYPE: Final = re.compile(r"(ssh|ecdsa|sk)-[a-z0-9@.-]+ [A-Za-z0-9+/]+=*( \S.*)?")
_NAME: Final = r"^[A-Za-z0-9._:%-]+$"

Address = Annotated[str, rules("The IP address or DNS name.", max_length=253, pattern=_NAME)]
Port = Annotated[int, rules("The port of the SSH server.", minimum=1, maximum=65535)]
User = Annotated[str, rules("The user who logs in.", min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._-]+$")]
HostKey = Annotated[
    str,
    rules(
        "The public key of the SSH server, as in its /etc/ssh/ssh_host_*_key.pub. If it is empty, "
        "the key of the first connection is trusted and stored here.",
        max_length=2048,
    ),
]


class SecretName(Model):
    """A Secret in the same namespace."""

    name: Annotated[str, rules("The name of the Secret.", max_length=253)] = ""


class JumpHost(Model):
    """A host through which another one is reached. It has the same private key."""

    address: Address = ""
    port: Port = 22
    user: User = "root"
    host_key: HostKey = ""


class Claim(Model):
    """The object for which a Host is in use."""

    kind: Annotated[str, rules("HostMachine or HostCluster.", max_length=63)] = "HostMachine"
    name: Annotated[str, rules("The name of the object.", max_length=253)] = ""
    uid: Annotated[str, rules("The ID of the claim. The host stores it, too.", max_length=64)] = ""
    cluster: Annotated[str, rules("The name of the Cluster.", max_length=253)] = ""
    control_plane: Annotated[bool, rules("Whether a control plane Machine uses it.")] = False
    released: Annotated[bool, rules("Whether the object is gone. The Host is cleaned, then the claim is removed.")] = (
        False
    )


class HostSpec(Model):
    """The address and credentials of a host, and its claim."""

    address: Address = ""
    port: Port = 22
    user: User = "root"
    sudo: Annotated[bool, rules("Whether commands are run by sudo, without a password.")] = False
    private_key_secret_ref: Annotated[
        SecretName | None,
        rules(
            "The Secret with the private key in `ssh-privatekey`. If it is not set, the agent of "
            "the provider's program (SSH_AUTH_SOCK) is asked."
        ),
    ] = None
    host_key: HostKey = ""
    jump_host: Annotated[JumpHost | None, rules("A host in between.")] = None
    failure_domain: Annotated[str, rules("Where the host is.", max_length=256)] = ""
    ignored_checks: Annotated[
        list[str], rules("Checks whose failure does not matter, for example swap.", max_items=32)
    ] = field(default_factory=list)
    unschedulable: Annotated[bool, rules("Whether the host gets no new Machine.")] = False
    claim: Annotated[Claim | None, rules("The machine that uses the host. The provider sets it.")] = None


class Facts(Model):
    """Facts that the provider found on a host."""

    architecture: Annotated[str, rules("amd64, arm64 or another one.")] = ""
    system: Annotated[str, rules("The operating system.")] = ""
    cpus: Annotated[int, rules("The number of CPUs.")] = 0
    memory: Annotated[int, rules("Memory in MiB.")] = field(default=0, name="memoryMiB")
    disk: Annotated[int, rules("Free space below /var/lib in MiB.")] = field(default=0, name="diskMiB")
    kubernetes: Annotated[str, rules("The version of kubeadm.")] = ""
    runtime: Annotated[str, rules("The container runtime.")] = ""
    boot_id: Annotated[str, rules("The ID of this run of the system.")] = field(default="", name="bootID")
    addresses: Annotated[list[str], rules("Its IP addresses.", max_items=64)] = field(default_factory=list)


class HostStatus(Model):
    """The observed state of a host."""

    state: Annotated[str, rules("A word for people: Free, Claimed, Quarantined …")] = ""
    facts: Annotated[Facts | None, rules("Facts about the host.")] = None
    conditions: Annotated[list[Condition], rules("The conditions of the host.", max_items=32)] = field(
        default_factory=list
    )


class Host(Object):
    """A machine that is reached over SSH."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, VERSION, "Host")
    COLUMNS: ClassVar[tuple[Column, ...]] = (
        Column("Address", ".spec.address", "Where it is reached"),
        Column("State", ".status.state", "The state of the host"),
        Column("Machine", ".spec.claim.name", "The machine that uses it"),
        Column("Cluster", ".spec.claim.cluster", "The Cluster that uses it"),
        Column("Kubernetes", ".status.facts.kubernetes", "The version of kubeadm", priority=10),
        AGE,
    )

    spec: HostSpec = field(default_factory=HostSpec)
    status: HostStatus = field(default_factory=HostStatus)


class HostSelector(Model):
    """Selects Hosts by their labels."""

    match_labels: Annotated[dict[str, str], rules("Labels that a Host must have.")] = field(default_factory=dict)


Selector = Annotated[HostSelector | None, rules("The Hosts that may be used; all if it is not set.")]


class HAProxy(Model):
    """A load balancer on a host of its own."""

    host_selector: Selector = None
    port: Annotated[int, rules("Its port.", minimum=1, maximum=65535)] = 6443


class KubeVIP(Model):
    """A static Pod on each control plane machine that moves the endpoint's address."""

    image: Annotated[str, rules("Its image.", min_length=1, max_length=512)] = "ghcr.io/kube-vip/kube-vip:v1.2.3"
    interface: Annotated[
        str,
        rules(
            "The network interface; that of the default route if it is empty.",
            max_length=15,
            pattern=r"^[A-Za-z0-9._@-]*$",
        ),
    ] = ""


class HostClusterSpec(InfraClusterSpec):
    """The endpoint of a cluster: controlPlaneEndpoint is given, or haproxy provides it."""

    haproxy: Annotated[HAProxy | None, rules("haproxy on a Host provides the endpoint.")] = None
    kube_vip: Annotated[KubeVIP | None, rules("kube-vip serves the address in controlPlaneEndpoint.")] = field(
        default=None, name="kubeVIP"
    )


class HostCluster(Object):
    """The endpoint of a cluster on hosts."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, VERSION, "HostCluster")

    spec: HostClusterSpec = field(default_factory=HostClusterSpec)
    status: InfraClusterStatus = field(default_factory=InfraClusterStatus)


class Archive(Model):
    """A file that the host downloads."""

    url: Annotated[str, rules("Its URL, https or http.", max_length=2048)] = ""
    sha256: Annotated[str, rules("Its checksum.", max_length=64, pattern=r"^[0-9a-f]*$")] = ""


class Repository(Model):
    """A repository of Debian packages."""

    url: Annotated[str, rules("Its URL.", max_length=2048)] = ""
    key: Annotated[str, rules("The public key that signs it, in ASCII armor.")] = ""


class Install(Model):
    """The source of Kubernetes. {version} and {minor} stand for v1.34.1 and v1.34,
    {arch} for the architecture.
    """

    folder: Annotated[str, rules("A folder of the host with kubeadm, kubelet and kubectl.", max_length=1024)] = ""
    archive: Annotated[Archive | None, rules("A tar archive with such a folder.")] = None
    repository: Annotated[Repository | None, rules("Packages of the same names.")] = None


class HostMachineSpec(InfraMachineSpec):
    """The requirements of a machine on its Host, and the installation of Kubernetes."""

    host_selector: Selector = None
    architecture: Annotated[str, rules("The architecture of the host; any if it is empty.", max_length=16)] = ""
    min_cpus: Annotated[int, rules("The least number of CPUs.", minimum=0)] = field(default=1, name="minCPUs")
    min_memory: Annotated[int, rules("The least memory in MiB.", minimum=0)] = field(default=900, name="minMemoryMiB")
    min_disk: Annotated[int, rules("The least free disk space in MiB.", minimum=0)] = field(
        default=2048, name="minDiskMiB"
    )
    install: Annotated[
        Install | None, rules("Where Kubernetes comes from; if it is not set, it is installed already.")
    ] = None


class HostMachineStatus(InfraMachineStatus):
    """The observed state of a machine."""

    host: Annotated[str, rules("The name of its Host.")] = ""


class HostMachine(Object):
    """A machine of a cluster on a Host."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, VERSION, "HostMachine")
    COLUMNS: ClassVar[tuple[Column, ...]] = (
        Column("Host", ".status.host", "The Host that it uses"),
        Column("Ready", '.status.conditions[?(@.type=="Ready")].status', "Whether it runs"),
        Column("Provider ID", ".spec.providerID", "Its ID", priority=10),
        AGE,
    )

    spec: HostMachineSpec = field(default_factory=HostMachineSpec)
    status: HostMachineStatus = field(default_factory=HostMachineStatus)


class HostMachinePoolSpec(InfraMachinePoolSpec):
    """The template of a pool's machines, with their requirements on Hosts."""

    template: Annotated[HostMachineSpec, rules("The spec of its HostMachines.")] = field(
        default_factory=HostMachineSpec
    )


class HostMachinePool(Object):
    """A pool of machines, each of which is a HostMachine."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, VERSION, "HostMachinePool")

    spec: HostMachinePoolSpec = field(default_factory=HostMachinePoolSpec)
    status: InfraMachinePoolStatus = field(default_factory=InfraMachinePoolStatus)


HostClusterTemplate = template_of(HostCluster)
HostMachineTemplate = template_of(HostMachine)
KINDS = (Host, HostCluster, HostClusterTemplate, HostMachine, HostMachineTemplate, HostMachinePool)


def host_defaults(host: Host) -> Host:
    """Label the Host so that it is moved with the clusters of its namespace."""
    host.metadata.labels.setdefault(MOVE, "")
    return host


def host_problems(new: Host, old: Host | None) -> Iterator[FieldError]:
    """Yield the errors of a Host."""
    spec = new.spec
    if not spec.address:
        yield required("spec.address", "the address at which the SSH server answers")
    yield from _key_problems("spec.hostKey", spec.host_key)
    if spec.jump_host is not None:
        if not spec.jump_host.address:
            yield required("spec.jumpHost.address", "the address of the host in between")
        yield from _key_problems("spec.jumpHost.hostKey", spec.jump_host.host_key)
    if old is not None and old.spec.claim and spec.claim and spec.claim.uid != old.spec.claim.uid:
        detail = "the Host is in use; a claim is removed before another one is written"
        yield forbidden("spec.claim", detail)


def _key_problems(path: str, key: str) -> Iterator[FieldError]:
    if key and not _KEY_TYPE.fullmatch(key):
        yield invalid(path, key[:80], "must be a public key such as `ssh-ed25519 AAAA…`")


def cluster_problems(new: HostCluster, old: HostCluster | None) -> Iterator[FieldError]:
    """Yield the errors of a HostCluster."""
    del old
    spec = new.spec
    if spec.haproxy is not None and spec.kube_vip is not None:
        yield forbidden("spec.kubeVIP", "haproxy provides the endpoint already; keep one of both")
    if spec.kube_vip is not None and not spec.control_plane_endpoint.host:
        yield required("spec.controlPlaneEndpoint.host", "the free address that kube-vip is to serve")


def machine_problems(new: HostMachine, old: HostMachine | None) -> Iterator[FieldError]:
    """Yield the errors of a HostMachine, and of what a template makes."""
    del old
    yield from _install_problems("spec.install", new.spec.install)


def pool_problems(new: HostMachinePool, old: HostMachinePool | None) -> Iterator[FieldError]:
    """Yield the errors of a HostMachinePool."""
    del old
    yield from _install_problems("spec.template.install", new.spec.template.install)


def _install_problems(path: str, install: Install | None) -> Iterator[FieldError]:
    if install is None:
        return
    sources = [bool(install.folder), install.archive is not None, install.repository is not None]
    if sum(sources) != 1:
        yield invalid(path, sum(sources), "name one of folder, archive and repository")
    if install.folder and not install.folder.startswith("/"):
        yield invalid(f"{path}.folder", install.folder, "must be an absolute path of the host")
    if install.archive is not None and len(install.archive.sha256) != 64:
        yield required(f"{path}.archive.sha256", "the checksum of the archive, 64 digits")
    for name, source in (("archive", install.archive), ("repository", install.repository)):
        if source is not None and not re.fullmatch(r"https?://[^\s'\"\\]+", source.url):
            yield invalid(f"{path}.{name}.url", source.url, "must be a URL of http or https")


ADMISSION = Rulebook(
    KindRules(Host, defaults=host_defaults, problems=host_problems),
    KindRules(HostCluster, template=HostClusterTemplate, problems=cluster_problems),
    KindRules(HostMachine, template=HostMachineTemplate, problems=machine_problems),
    KindRules(HostMachinePool, problems=pool_problems),
)
