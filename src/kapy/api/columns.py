"""The columns of `kubectl get` for each of our kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kapy.kube import Document

WIDE: Final = 10
"""Priority of a column that only `-o wide` shows."""


class Column(NamedTuple):
    """A printer column of a CRD, which `kubectl get` shows. path: the JSONPath of the value. type:
    string, integer, boolean or date.
    """

    name: str
    path: str
    description: str
    type: str = "string"
    priority: int = 0

    def document(self) -> Document:
        """Return the column as an entry of `additionalPrinterColumns` of a CRD."""
        result: Document = {
            "name": self.name,
            "type": self.type,
            "jsonPath": self.path,
            "description": self.description,
        }
        return result | ({"priority": self.priority} if self.priority else {})


def condition(type_: str, description: str, *, name: str = "", priority: int = 0) -> Column:
    path = f'.status.conditions[?(@.type=="{type_}")].status'
    return Column(name or type_, path, description, priority=priority)


def count(name: str, path: str, description: str, *, priority: int = 0) -> Column:
    return Column(name, path, description, "integer", priority)


def owner(kind: str) -> Column:
    path = f'.metadata.ownerReferences[?(@.kind=="{kind}")].name'
    return Column(kind, path, f"Name of the {kind} that owns the object")


def _counts(of: str, where: str, *, prefix: str, wide: int) -> tuple[Column, ...]:
    return (
        count(f"{prefix}Desired", f"{where}.desiredReplicas", f"Number of desired {of}"),
        count(f"{prefix}Current", f"{where}.replicas", f"Number of {of} that exist", priority=wide),
        count(
            f"{prefix}Ready",
            f"{where}.readyReplicas",
            f"Number of {of} that are Ready",
            priority=wide,
        ),
        count(
            f"{prefix}Available", f"{where}.availableReplicas", f"Number of {of} that are Available"
        ),
        count(
            f"{prefix}Up-to-date", f"{where}.upToDateReplicas", f"Number of {of} that are UpToDate"
        ),
    )


AGE = Column("Age", ".metadata.creationTimestamp", "Time since the creation of the object", "date")
PHASE = Column("Phase", ".status.phase", "Phase of the object's life cycle")
PAUSED = condition(
    "Paused",
    "Status of the Paused condition, True while controllers ignore the object",
    priority=WIDE,
)
CLUSTER = Column("Cluster", ".spec.clusterName", "Name of the Cluster to which the object belongs")
LABELED = Column(
    "Cluster",
    r".metadata.labels['cluster\.x-k8s\.io/cluster-name']",
    "Name of the Cluster to which the object belongs",
)
_PROVIDER_ID = Column(
    "Provider ID",
    ".spec.providerID",
    "Identifier of the machine at the infrastructure provider",
    priority=WIDE,
)
_FAILURE_DOMAIN = Column(
    "Failure domain", ".status.failureDomain", "Failure domain in which the machine runs"
)
_REPLICAS = (
    count("Desired", ".spec.replicas", "Number of desired Machines"),
    count("Current", ".status.replicas", "Number of Machines that exist"),
    count("Ready", ".status.readyReplicas", "Number of Machines that are Ready"),
    count("Available", ".status.availableReplicas", "Number of Machines that are Available"),
    count("Up-to-date", ".status.upToDateReplicas", "Number of Machines that are UpToDate"),
)


def version(path: str) -> Column:
    return Column("Version", path, "Desired Kubernetes version")


def _address(name: str, type_: str, description: str) -> Column:
    path = f'.status.addresses[?(@.type=="{type_}")].address'
    return Column(name, path, description, priority=WIDE)


_INFRA_MACHINE = (
    LABELED,
    _PROVIDER_ID,
    _FAILURE_DOMAIN,
    _address("IP", "InternalIP", "Internal IP address of the machine"),
    PAUSED,
    Column(
        "Provisioned",
        ".status.initialization.provisioned",
        "True after the machine has been provisioned",
    ),
    AGE,
)

_POOL = (
    Column("Pool Name", ".spec.poolRef.name", "Name of the pool of addresses"),
    Column("Pool Kind", ".spec.poolRef.kind", "Kind of the pool of addresses"),
)
IP_ADDRESS = (Column("Address", ".spec.address", "IP address"), *_POOL, AGE)
IP_ADDRESS_CLAIM = (*_POOL, AGE)
DRAIN_RULE = (
    Column("Behavior", ".spec.drain.behavior", "Behavior of the drain for the selected Pods"),
    Column("Order", ".spec.drain.order", "Position of the selected Pods in the drain"),
    AGE,
)

COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "Cluster": (
        Column(
            "ClusterClass",
            ".spec.topology.classRef.name",
            "Name of the ClusterClass of the Cluster",
        ),
        condition(
            "Available", "Status of the Available condition, True while the Cluster is fully usable"
        ),
        *_counts("control plane Machines", ".status.controlPlane", prefix="CP ", wide=WIDE),
        *_counts("worker Machines", ".status.workers", prefix="W ", wide=WIDE),
        PAUSED,
        PHASE,
        AGE,
        version(".spec.topology.version"),
    ),
    "ClusterClass": (
        PAUSED,
        condition(
            "VariablesReady",
            "Status of the VariablesReady condition, True after all variables are reconciled",
            name="Variables Ready",
        ),
        AGE,
    ),
    "Machine": (
        CLUSTER,
        Column("Node Name", ".status.nodeRef.name", "Name of the Node of the Machine"),
        _PROVIDER_ID,
        _FAILURE_DOMAIN,
        condition(
            "Ready",
            "Status of the Ready condition, True while all components of the Machine are healthy",
        ),
        condition(
            "Available",
            "Status of the Available condition, True after minReadySeconds of being Ready",
        ),
        condition(
            "UpToDate",
            "Status of the UpToDate condition, True while the Machine matches its owner's spec",
            name="Up-to-date",
        ),
        _address("Internal-IP", "InternalIP", "Internal IP address of the machine"),
        _address("External-IP", "ExternalIP", "External IP address of the machine"),
        Column(
            "OS-Image", ".status.nodeInfo.osImage", "Operating system of the Node", priority=WIDE
        ),
        PAUSED,
        PHASE,
        AGE,
        version(".spec.version"),
    ),
    "MachineSet": (CLUSTER, *_REPLICAS, PAUSED, AGE, version(".spec.template.spec.version")),
    "MachineDeployment": (
        CLUSTER,
        condition(
            "Available",
            "Status of the Available condition, True while enough Machines are Available",
        ),
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
        count("Replicas", ".status.expectedMachines", "Number of selected Machines"),
        count("Healthy", ".status.currentHealthy", "Number of selected Machines that are healthy"),
        PAUSED,
        AGE,
    ),
    "MachineDrainRule": DRAIN_RULE,
    "ClusterResourceSet": (
        condition(
            "ResourcesApplied",
            "Status of the ResourcesApplied condition, True after all clusters have the objects",
            name="Applied",
        ),
        PAUSED,
        AGE,
    ),
    "ClusterResourceSetBinding": (CLUSTER, AGE),
    "IPAddress": IP_ADDRESS,
    "IPAddressClaim": IP_ADDRESS_CLAIM,
    "ExtensionConfig": (
        PAUSED,
        condition(
            "Discovered", "Status of the Discovered condition, True after the handlers are known"
        ),
        AGE,
    ),
    "KubeadmConfig": (
        LABELED,
        PAUSED,
        Column(
            "Data secret created",
            ".status.initialization.dataSecretCreated",
            "True after the Secret with the bootstrap data has been created",
        ),
        AGE,
    ),
    "KubeadmConfigTemplate": (owner("ClusterClass"), owner("Cluster"), AGE),
    "KubeadmControlPlane": (
        LABELED,
        condition(
            "Available", "Status of the Available condition, True while the control plane is usable"
        ),
        *_REPLICAS,
        PAUSED,
        Column(
            "Initialized",
            ".status.initialization.controlPlaneInitialized",
            "True after the API server has accepted requests for the first time",
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
