"""What `kubectl get` shows of each of our kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kapy.kube import Document

WIDE: Final = 10
"""Priority of a column that only `-o wide` shows."""


class Column(NamedTuple):
    """One printer column. path: a JSONPath. type: string, integer, boolean or date."""

    name: str
    path: str
    description: str
    type: str = "string"
    priority: int = 0

    def document(self) -> Document:
        """The column as an entry of a CRD's `additionalPrinterColumns`."""
        shown: Document = {
            "name": self.name,
            "type": self.type,
            "jsonPath": self.path,
            "description": self.description,
        }
        return shown | ({"priority": self.priority} if self.priority else {})


def _condition(type_: str, description: str, *, name: str = "", priority: int = 0) -> Column:
    path = f'.status.conditions[?(@.type=="{type_}")].status'
    return Column(name or type_, path, description, priority=priority)


def _count(name: str, path: str, description: str, *, priority: int = 0) -> Column:
    return Column(name, path, description, "integer", priority)


def _owner(kind: str) -> Column:
    path = f'.metadata.ownerReferences[?(@.kind=="{kind}")].name'
    return Column(kind, path, f"The {kind} that owns this template")


def _counts(of: str, where: str, *, prefix: str, wide: int) -> tuple[Column, ...]:
    return (
        _count(f"{prefix}Desired", f"{where}.desiredReplicas", f"How many {of} there should be"),
        _count(f"{prefix}Current", f"{where}.replicas", f"How many {of} exist", priority=wide),
        _count(
            f"{prefix}Ready", f"{where}.readyReplicas", f"How many {of} are Ready", priority=wide
        ),
        _count(f"{prefix}Available", f"{where}.availableReplicas", f"How many {of} are Available"),
        _count(f"{prefix}Up-to-date", f"{where}.upToDateReplicas", f"How many {of} are UpToDate"),
    )


_AGE = Column("Age", ".metadata.creationTimestamp", "How long ago it was created", "date")
_PHASE = Column("Phase", ".status.phase", "In one word, what is going on with it")
_PAUSED = _condition("Paused", "Whether controllers leave it alone", priority=WIDE)
_CLUSTER = Column("Cluster", ".spec.clusterName", "The Cluster it belongs to")
_LABELED = Column(
    "Cluster",
    r".metadata.labels['cluster\.x-k8s\.io/cluster-name']",
    "The Cluster it belongs to",
)
_PROVIDER_ID = Column(
    "Provider ID", ".spec.providerID", "The infrastructure's name of the machine", priority=WIDE
)
_FAILURE_DOMAIN = Column(
    "Failure domain", ".status.failureDomain", "The failure domain that the machine is in"
)
_REPLICAS = (
    _count("Desired", ".spec.replicas", "How many Machines there should be"),
    _count("Current", ".status.replicas", "How many Machines exist"),
    _count("Ready", ".status.readyReplicas", "How many Machines are Ready"),
    _count("Available", ".status.availableReplicas", "How many Machines are Available"),
    _count("Up-to-date", ".status.upToDateReplicas", "How many Machines are UpToDate"),
)


def _version(path: str) -> Column:
    return Column("Version", path, "The Kubernetes version that is wanted")


def _address(name: str, type_: str, description: str) -> Column:
    path = f'.status.addresses[?(@.type=="{type_}")].address'
    return Column(name, path, description, priority=WIDE)


COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "Cluster": (
        Column("ClusterClass", ".spec.topology.classRef.name", "The ClusterClass it is made of"),
        _condition("Available", "Whether all of the Cluster can be used"),
        *_counts("control plane Machines", ".status.controlPlane", prefix="CP ", wide=WIDE),
        *_counts("worker Machines", ".status.workers", prefix="W ", wide=WIDE),
        _PAUSED,
        _PHASE,
        _AGE,
        _version(".spec.topology.version"),
    ),
    "Machine": (
        _CLUSTER,
        Column("Node Name", ".status.nodeRef.name", "The Node that the Machine became"),
        _PROVIDER_ID,
        _FAILURE_DOMAIN,
        _condition("Ready", "Whether everything that belongs to the Machine is in order"),
        _condition("Available", "Whether the Machine has been Ready for long enough"),
        _condition("UpToDate", "Whether the Machine is as its owner wants it", name="Up-to-date"),
        _address("Internal-IP", "InternalIP", "Where the machine is reached from inside"),
        _address("External-IP", "ExternalIP", "Where the machine is reached from outside"),
        Column(
            "OS-Image", ".status.nodeInfo.osImage", "The operating system it runs", priority=WIDE
        ),
        _PAUSED,
        _PHASE,
        _AGE,
        _version(".spec.version"),
    ),
    "MachineSet": (_CLUSTER, *_REPLICAS, _PAUSED, _AGE, _version(".spec.template.spec.version")),
    "MachineDeployment": (
        _CLUSTER,
        _condition("Available", "Whether enough Machines are Available"),
        *_REPLICAS,
        _PAUSED,
        _PHASE,
        _AGE,
        _version(".spec.template.spec.version"),
    ),
    "KubeadmConfig": (
        _LABELED,
        _PAUSED,
        Column(
            "Data secret created",
            ".status.initialization.dataSecretCreated",
            "Whether the machine's boot data is ready",
        ),
        _AGE,
    ),
    "KubeadmConfigTemplate": (_owner("ClusterClass"), _owner("Cluster"), _AGE),
    "KubeadmControlPlane": (
        _LABELED,
        _condition("Available", "Whether the control plane can be used"),
        *_REPLICAS,
        _PAUSED,
        Column(
            "Initialized",
            ".status.initialization.controlPlaneInitialized",
            "Whether the API server has answered for the first time",
            "boolean",
        ),
        _AGE,
        _version(".spec.version"),
    ),
    "KubeadmControlPlaneTemplate": (_owner("ClusterClass"), _AGE),
    "DevCluster": (_LABELED, _AGE),
    "DevClusterTemplate": (_AGE,),
    "DevMachine": (
        _LABELED,
        _PROVIDER_ID,
        _FAILURE_DOMAIN,
        _address("IP", "InternalIP", "Where the machine is reached"),
        _PAUSED,
        Column("Provisioned", ".status.initialization.provisioned", "Whether the machine is there"),
        _AGE,
    ),
    "DevMachineTemplate": (_AGE,),
}
