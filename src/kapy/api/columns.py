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


def condition(type_: str, description: str, *, name: str = "", priority: int = 0) -> Column:
    path = f'.status.conditions[?(@.type=="{type_}")].status'
    return Column(name or type_, path, description, priority=priority)


def count(name: str, path: str, description: str, *, priority: int = 0) -> Column:
    return Column(name, path, description, "integer", priority)


def owner(kind: str) -> Column:
    path = f'.metadata.ownerReferences[?(@.kind=="{kind}")].name'
    return Column(kind, path, f"The {kind} that owns it")


def _counts(of: str, where: str, *, prefix: str, wide: int) -> tuple[Column, ...]:
    return (
        count(f"{prefix}Desired", f"{where}.desiredReplicas", f"How many {of} there should be"),
        count(f"{prefix}Current", f"{where}.replicas", f"How many {of} exist", priority=wide),
        count(
            f"{prefix}Ready", f"{where}.readyReplicas", f"How many {of} are Ready", priority=wide
        ),
        count(f"{prefix}Available", f"{where}.availableReplicas", f"How many {of} are Available"),
        count(f"{prefix}Up-to-date", f"{where}.upToDateReplicas", f"How many {of} are UpToDate"),
    )


AGE = Column("Age", ".metadata.creationTimestamp", "How long ago it was created", "date")
PHASE = Column("Phase", ".status.phase", "In one word, what is going on with it")
PAUSED = condition("Paused", "Whether controllers leave it alone", priority=WIDE)
CLUSTER = Column("Cluster", ".spec.clusterName", "The Cluster it belongs to")
LABELED = Column(
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
    count("Desired", ".spec.replicas", "How many Machines there should be"),
    count("Current", ".status.replicas", "How many Machines exist"),
    count("Ready", ".status.readyReplicas", "How many Machines are Ready"),
    count("Available", ".status.availableReplicas", "How many Machines are Available"),
    count("Up-to-date", ".status.upToDateReplicas", "How many Machines are UpToDate"),
)


def version(path: str) -> Column:
    return Column("Version", path, "The Kubernetes version that is wanted")


def _address(name: str, type_: str, description: str) -> Column:
    path = f'.status.addresses[?(@.type=="{type_}")].address'
    return Column(name, path, description, priority=WIDE)


_INFRA_MACHINE = (
    LABELED,
    _PROVIDER_ID,
    _FAILURE_DOMAIN,
    _address("IP", "InternalIP", "Where the machine is reached"),
    PAUSED,
    Column("Provisioned", ".status.initialization.provisioned", "Whether the machine is there"),
    AGE,
)

_POOL = (
    Column("Pool Name", ".spec.poolRef.name", "The pool that it is taken from"),
    Column("Pool Kind", ".spec.poolRef.kind", "The kind of that pool"),
)
IP_ADDRESS = (Column("Address", ".spec.address", "The address"), *_POOL, AGE)
IP_ADDRESS_CLAIM = (*_POOL, AGE)
DRAIN_RULE = (
    Column("Behavior", ".spec.drain.behavior", "What happens to the Pods"),
    Column("Order", ".spec.drain.order", "When it is their turn"),
    AGE,
)

COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "Cluster": (
        Column("ClusterClass", ".spec.topology.classRef.name", "The ClusterClass it is made of"),
        condition("Available", "Whether all of the Cluster can be used"),
        *_counts("control plane Machines", ".status.controlPlane", prefix="CP ", wide=WIDE),
        *_counts("worker Machines", ".status.workers", prefix="W ", wide=WIDE),
        PAUSED,
        PHASE,
        AGE,
        version(".spec.topology.version"),
    ),
    "ClusterClass": (
        PAUSED,
        condition("VariablesReady", "Whether all variables are known", name="Variables Ready"),
        AGE,
    ),
    "Machine": (
        CLUSTER,
        Column("Node Name", ".status.nodeRef.name", "The Node that the Machine became"),
        _PROVIDER_ID,
        _FAILURE_DOMAIN,
        condition("Ready", "Whether everything that belongs to the Machine is in order"),
        condition("Available", "Whether the Machine has been Ready for long enough"),
        condition("UpToDate", "Whether the Machine is as its owner wants it", name="Up-to-date"),
        _address("Internal-IP", "InternalIP", "Where the machine is reached from inside"),
        _address("External-IP", "ExternalIP", "Where the machine is reached from outside"),
        Column(
            "OS-Image", ".status.nodeInfo.osImage", "The operating system it runs", priority=WIDE
        ),
        PAUSED,
        PHASE,
        AGE,
        version(".spec.version"),
    ),
    "MachineSet": (CLUSTER, *_REPLICAS, PAUSED, AGE, version(".spec.template.spec.version")),
    "MachineDeployment": (
        CLUSTER,
        condition("Available", "Whether enough Machines are Available"),
        *_REPLICAS,
        PAUSED,
        PHASE,
        AGE,
        version(".spec.template.spec.version"),
    ),
    "MachinePool": (
        CLUSTER,
        *_REPLICAS,
        PAUSED,
        PHASE,
        AGE,
        version(".spec.template.spec.version"),
    ),
    "MachineHealthCheck": (
        CLUSTER,
        count("Replicas", ".status.expectedMachines", "How many Machines are watched"),
        count("Healthy", ".status.currentHealthy", "How many of them are healthy"),
        PAUSED,
        AGE,
    ),
    "MachineDrainRule": DRAIN_RULE,
    "ClusterResourceSet": (
        condition("ResourcesApplied", "Whether all clusters have the objects", name="Applied"),
        PAUSED,
        AGE,
    ),
    "ClusterResourceSetBinding": (CLUSTER, AGE),
    "IPAddress": IP_ADDRESS,
    "IPAddressClaim": IP_ADDRESS_CLAIM,
    "ExtensionConfig": (
        PAUSED,
        condition("Discovered", "Whether it is known what the server offers"),
        AGE,
    ),
    "KubeadmConfig": (
        LABELED,
        PAUSED,
        Column(
            "Data secret created",
            ".status.initialization.dataSecretCreated",
            "Whether the machine's boot data is ready",
        ),
        AGE,
    ),
    "KubeadmConfigTemplate": (owner("ClusterClass"), owner("Cluster"), AGE),
    "KubeadmControlPlane": (
        LABELED,
        condition("Available", "Whether the control plane can be used"),
        *_REPLICAS,
        PAUSED,
        Column(
            "Initialized",
            ".status.initialization.controlPlaneInitialized",
            "Whether the API server has answered for the first time",
            "boolean",
        ),
        AGE,
        version(".spec.version"),
    ),
    "KubeadmControlPlaneTemplate": (owner("ClusterClass"), AGE),
    "DevCluster": (LABELED, AGE),
    "DevClusterTemplate": (AGE,),
    "DevMachine": _INFRA_MACHINE,
    "DevMachineTemplate": (AGE,),
    "DevMachinePool": (AGE,),
    "DevMachinePoolTemplate": (AGE,),
    "DockerCluster": (LABELED, AGE),
    "DockerClusterTemplate": (AGE,),
    "DockerMachine": _INFRA_MACHINE,
    "DockerMachineTemplate": (AGE,),
    "DockerMachinePool": (AGE,),
    "DockerMachinePoolTemplate": (AGE,),
}
