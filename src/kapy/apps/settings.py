"""The settings of a management plane, and its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from kapy.api.features import FeatureGates
from kapy.engine.crd_migration import Phase
from kapy.engine.options import ManagerOptions
from kapy.kube.errors import KapyError
from kapy.kube.http import User
from kapy.kube.pki import Algorithm
from kapy.kube.regexp import Regexp

if TYPE_CHECKING:
    from kapy.apiserver.request.limits.max_in_flight import Limits
    from kapy.sdk.provider import Provider
    from kapy.ui.page import Planner

DEFAULT_PORT: Final = 6443
LOOPBACK: Final = "127.0.0.1"

EMBEDDED_GATES: Final = FeatureGates(cluster_topology=True)
"""The usual gates of a plane in one process. ClusterTopology is open, as upstream's quick start has
it: nobody else has to agree, and ClusterClasses are what most people begin with."""

EMBEDDED_OPTIONS: Final = ManagerOptions(gates=EMBEDDED_GATES)

ManagerName = Literal["core", "bootstrap-kubeadm", "control-plane-kubeadm", "infrastructure-dev"]
"""The managers that a plane is made of, as `kapy manager` names them."""

RunPods = Literal["containers", "processes", "off"]
"""Containers of a container engine, or only programs of this machine that were given in place of
images, or nothing."""

Processes = int | Literal["auto"]
"""A number, or as many as are of use, once the plane has many clusters."""

ApiProcessCount = int | Literal["auto"]
"""A number, or as many as are of use on this machine."""

Durability = Literal["crash", "power-loss"]
"""The end of the process, at any moment; or that of the machine, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """The network settings of the plane's API server.

    port: 0 for any free one. tokens: users by bearer token. pki: the folder of the plane's CA, None
    for a CA that is not stored. replace_keys: replace existing keys, also missing or unusable ones.
    """

    host: str = LOOPBACK
    port: int = 0
    tokens: Mapping[str, User] = field(default_factory=dict)
    pki: Path | None = None
    algorithm: Algorithm = "ECDSA-P256"
    replace_keys: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLog:
    """The settings of the audit log.

    path: a file, `-` for standard output. policy: None to record the metadata of every request,
    without bodies. megabytes, days, backups: the maximum size of a file, and how long and how many
    full files are kept (0: 100, for ever, all).
    """

    path: str
    policy: Path | None = None
    megabytes: int = 0
    days: int = 0
    backups: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionCalls:
    """Settings for calls of runtime extensions. max_timeout: the upper limit of any handler's
    timeout. certificate, key: files of the client certificate, None for none.
    """

    max_timeout: timedelta = timedelta(seconds=30)
    certificate: Path | None = None
    key: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerConfig:
    """The settings of the controllers.

    connection_grace, conditions_grace: how long a workload cluster may be unreachable before its
    Cluster reports it, and before the conditions of its Nodes become Unknown. preflight_checks: the
    names of the enabled checks, or `All`. machine_labels, machine_annotations: patterns of
    additional labels and annotations that are synced from Machines to Nodes. token_life: the
    validity of bootstrap tokens. extensions: the settings of calls of runtime extensions.
    disabled_managers: managers whose controllers do not run here, because other programs run them
    (`kapy manager`, or upstream's). workload_host: one address for all in-memory workload clusters,
    each with its own port; "" for a loopback address for each. skipped_migration_phases: the phases
    of the CRD migration that are skipped.
    """

    manager: ManagerOptions = EMBEDDED_OPTIONS
    connection_grace: timedelta = timedelta(seconds=50)
    conditions_grace: timedelta = timedelta(minutes=5)
    preflight_checks: tuple[str, ...] = ("All",)
    machine_labels: tuple[Regexp, ...] = ()
    machine_annotations: tuple[Regexp, ...] = ()
    token_life: timedelta = timedelta(minutes=15)
    extensions: ExtensionCalls = field(default_factory=ExtensionCalls)
    disabled_managers: frozenset[ManagerName] = frozenset()
    workload_host: str = ""
    skipped_migration_phases: frozenset[Phase] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """The settings of the fleet page. plan: computes plans, None for no page of plans."""

    plan: Planner | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a management plane in one process.

    data: the folder of the store, None for a store in memory. serving: None for no sockets;
    workload clusters are then only reachable in process, too. limits: the maximum number of
    concurrent requests over the network, None for kube-apiserver's. audit: None for no audit log.
    webhook_services: base URLs of the Services of webhooks, by namespace, name and port (0: any).
    durability: which failures an acknowledged write survives. controllers: settings of the
    controllers. accept_data_loss: start although acknowledged writes are missing on disk.
    inventory: present the built-in providers to clusterctl as installed. pods: the plane's folder,
    if Pods of Deployments are to run; None for no Pods (a plane without a network has none either).
    run_pods: the runtime of Pods without a local program. pages: the fleet page under `/ui`, None
    for none (a plane without a network has none either). providers: custom providers that run in
    the process, too. processes: the number of processes among which the clusters are divided.
    api_processes: the number of processes that serve the API server over the network, 0 for the
    plane's own.
    """

    data: Path | None = None
    durability: Durability = "crash"
    accept_data_loss: bool = False
    serving: Serving | None = None
    limits: Limits | None = None
    audit: AuditLog | None = None
    webhook_services: Mapping[tuple[str, str, int], str] = field(default_factory=dict)
    controllers: ControllerConfig = field(default_factory=ControllerConfig)
    inventory: bool = False
    pods: Path | None = None
    run_pods: RunPods = "processes"
    pages: Pages | None = None
    providers: tuple[Provider, ...] = ()
    processes: Processes = 1
    api_processes: ApiProcessCount = 0


class UnusableFolder(KapyError):
    """The folder of a plane cannot be created or written; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of one plane on disk, readable by its owner only."""

    path: Path

    @property
    def data(self) -> Path:
        """The folder of the store."""
        return self.path / "data"

    @property
    def pki(self) -> Path:
        """The folder of the CA and the administrator's certificate."""
        return self.path / "pki"

    @property
    def log(self) -> Path:
        """The log of a plane that runs in the background."""
        return self.path / "plane.log"

    @property
    def node(self) -> Path:
        """The folder of the Pods that the plane runs."""
        return self.path / "node"

    @property
    def containers(self) -> Path:
        """The file with the plane's container engine; it exists once there were containers."""
        return self.node / "containers.json"

    @property
    def running_record(self) -> Path:
        """The record of the running plane."""
        return self.path / "plane.json"

    @property
    def last_record(self) -> Path:
        """The record of the plane that stopped last."""
        return self.path / "plane.last.json"

    def make(self) -> None:
        """Make the folder, readable by its owner only. Raises UnusableFolder."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.chmod(0o700)
        except OSError as error:
            raise UnusableFolder(
                f"the plane's folder {self.path} cannot be used: {error.strerror}; make it a "
                "directory that this user owns and may write to, or choose another --data-dir or "
                "--name"
            ) from None


def base_of_planes(environ: Mapping[str, str], home: Path) -> Path:
    """Return the base folder of named planes: $KAPY_HOME, else `~/.kapy`."""
    return Path(environ["KAPY_HOME"]) if environ.get("KAPY_HOME") else home / ".kapy"


def folder_of(name: str, environ: Mapping[str, str], home: Path) -> Folder:
    """Return the folder of a named plane."""
    return Folder(base_of_planes(environ, home) / (name or "default"))


def context_name(name: str) -> str:
    """Return the kubeconfig context of a plane: `kapy`, or `kapy-<name>`."""
    return f"kapy-{name}" if name else "kapy"
