"""What a management plane can be told, and where it keeps what it writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from kapy.api.features import FeatureGates
from kapy.engine.crd_migration.phases import Phase
from kapy.engine.options import ManagerOptions
from kapy.kube.errors import KapyError
from kapy.kube.http import User
from kapy.kube.pki import Algorithm
from kapy.kube.regexp import Regexp

if TYPE_CHECKING:
    from kapy.apiserver.request.limits.max_in_flight import Limits
    from kapy.sdk.provider import Provider

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

Durability = Literal["crash", "power-loss"]
"""The end of the process, at any moment; or that of the machine, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How the plane's API server is reached over the network.

    port: 0 for any free one. tokens: users by bearer token. pki: the folder that keeps the
    plane's certificate authority, None to make one that nobody keeps. replace_keys: make new ones
    in place of those that are there, missing or unusable.
    """

    host: str = LOOPBACK
    port: int = 0
    tokens: Mapping[str, User] = field(default_factory=dict)
    pki: Path | None = None
    algorithm: Algorithm = "ECDSA-P256"
    replace_keys: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLog:
    """Where and how requests are written down.

    path: a file, `-` for standard output. policy: None to write down who asked for what, of every
    request, and no bodies. megabytes, days, backups: when a file is full, how long and how many
    full files are kept (0: 100, for ever, all).
    """

    path: str
    policy: Path | None = None
    megabytes: int = 0
    days: int = 0
    backups: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionCalls:
    """How runtime extensions are called.

    longest: what no handler may exceed, whatever it asks for. certificate, key: files of what
    extensions are shown, None for nothing.
    """

    max_timeout: timedelta = timedelta(seconds=30)
    certificate: Path | None = None
    key: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerConfig:
    """What the controllers are told.

    connection_grace, conditions_grace: silence of a workload cluster after which a Cluster says
    so, and after which what was known of it is Unknown. preflight_checks: by name, or `All`.
    machine_labels, machine_annotations: which more of them a Node gets from its Machine.
    token_life: how long a bootstrap token lasts. extensions: how runtime extensions are called.
    without: managers whose controllers do not run, as somebody else's do (`kapy manager`, or
    upstream's). workload_host: the address of all workload clusters in memory, each with a port of
    its own; "" for a loopback address for each. skipped_migration_phases: of the migration of
    objects whose CRDs have changed.
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
class Settings:
    """A management plane in one process.

    data: the folder of the store, None for one in memory. serving: None for no sockets at all
    (workload clusters are then reached in process only, too). limits: how many requests over the
    network may be under way, None: kube-apiserver's. audit: None for no audit log.
    webhook_services: base URLs of the Services that webhooks name, by namespace, name and port
    (0: any). durability: what an acknowledged write survives. controlling: what its controllers
    are told. accept_data_loss: go on with what is on disk where acknowledged writes are missing.
    inventory: clusterctl finds the built-in providers installed. pods: the plane's folder, where
    its Deployments are to get Pods that run; None for no Pods (a plane without a network has none
    either). run_pods: as what they run where no program of this machine is given. providers: those
    of one's own that run in the process, too.
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
    providers: tuple[Provider, ...] = ()


class UnusableFolder(KapyError):
    """The folder of a plane cannot be made or written to; the message says why."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of one plane on disk, for its owner's eyes only."""

    path: Path

    @property
    def data(self) -> Path:
        """The store."""
        return self.path / "data"

    @property
    def pki(self) -> Path:
        """The certificate authority and the administrator's certificate."""
        return self.path / "pki"

    @property
    def log(self) -> Path:
        """What a detached plane said."""
        return self.path / "plane.log"

    @property
    def node(self) -> Path:
        """The folder of the Pods that the plane runs."""
        return self.path / "node"

    @property
    def containers(self) -> Path:
        """The engine that runs containers of the plane; it is there once there were any."""
        return self.node / "containers.json"

    @property
    def running_record(self) -> Path:
        """Who runs the plane and where it listens, while it runs."""
        return self.path / "plane.json"

    @property
    def last_record(self) -> Path:
        """The same of the plane that has stopped last."""
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
    """Where the folders of named planes are: $KAPY_HOME, else `~/.kapy`."""
    return Path(environ["KAPY_HOME"]) if environ.get("KAPY_HOME") else home / ".kapy"


def folder_of(name: str, environ: Mapping[str, str], home: Path) -> Folder:
    """The folder of a named plane."""
    return Folder(base_of_planes(environ, home) / (name or "default"))


def context_name(name: str) -> str:
    """The kubeconfig context of a plane: `kapy`, or `kapy-<name>`."""
    return f"kapy-{name}" if name else "kapy"
