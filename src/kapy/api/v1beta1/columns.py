"""What `kubectl get` shows of each of our kinds when it asks for v1beta1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.columns import (
    AGE,
    CLUSTER,
    DRAIN_RULE,
    IP_ADDRESS,
    IP_ADDRESS_CLAIM,
    LABELED,
    PHASE,
    WIDE,
    Column,
    count,
    owner,
    version,
)

_INFRA_MACHINE = (
    LABELED,
    owner("Machine"),
    Column("ProviderID", ".spec.providerID", "The infrastructure's name of the machine"),
    Column("Ready", ".status.ready", "Whether the machine is there"),
    AGE,
)

_DESIRED = count("Desired", ".spec.replicas", "How many Machines there should be", priority=WIDE)
_REPLICAS = count("Replicas", ".status.replicas", "How many Machines exist")
_READY = count("Ready", ".status.readyReplicas", "How many Machines are ready")

COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "Cluster": (
        Column("ClusterClass", ".spec.topology.class", "The ClusterClass it is made of"),
        PHASE,
        AGE,
        version(".spec.topology.version"),
    ),
    "ClusterClass": (AGE,),
    "Machine": (
        CLUSTER,
        Column("NodeName", ".status.nodeRef.name", "The Node that the Machine became"),
        Column("ProviderID", ".spec.providerID", "The infrastructure's name of the machine"),
        PHASE,
        AGE,
        version(".spec.version"),
    ),
    "MachineSet": (
        CLUSTER,
        _DESIRED,
        _REPLICAS,
        _READY,
        count("Available", ".status.availableReplicas", "How many Machines are available"),
        AGE,
        version(".spec.template.spec.version"),
    ),
    "MachineDeployment": (
        CLUSTER,
        _DESIRED,
        _REPLICAS,
        _READY,
        count("Updated", ".status.updatedReplicas", "How many Machines have the newest template"),
        count("Unavailable", ".status.unavailableReplicas", "How many Machines are still missing"),
        PHASE,
        AGE,
        version(".spec.template.spec.version"),
    ),
    "MachinePool": (
        CLUSTER,
        _DESIRED,
        Column("Replicas", ".status.replicas", "How many machines exist"),
        PHASE,
        AGE,
        version(".spec.template.spec.version"),
    ),
    "MachineHealthCheck": (
        CLUSTER,
        count("ExpectedMachines", ".status.expectedMachines", "How many Machines are watched"),
        Column("MaxUnhealthy", ".spec.maxUnhealthy", "How many of them may be unhealthy"),
        count("CurrentHealthy", ".status.currentHealthy", "How many of them are healthy"),
        AGE,
    ),
    "MachineDrainRule": DRAIN_RULE,
    "ClusterResourceSet": (AGE,),
    "ClusterResourceSetBinding": (AGE,),
    "IPAddress": IP_ADDRESS,
    "IPAddressClaim": IP_ADDRESS_CLAIM,
    "KubeadmConfig": (LABELED, AGE),
    "KubeadmConfigTemplate": (AGE,),
    "KubeadmControlPlane": (
        LABELED,
        Column(
            "Initialized",
            ".status.initialized",
            "Whether the API server has answered for the first time",
            "boolean",
        ),
        Column(
            "API Server Available", ".status.ready", "Whether the API server can be used", "boolean"
        ),
        count("Desired", ".spec.replicas", "How many Machines there should be", priority=WIDE),
        count("Replicas", ".status.replicas", "How many Machines exist"),
        count("Ready", ".status.readyReplicas", "How many Machines are ready"),
        count("Updated", ".status.updatedReplicas", "How many Machines have the newest template"),
        count("Unavailable", ".status.unavailableReplicas", "How many Machines are still missing"),
        AGE,
        version(".spec.version"),
    ),
    "KubeadmControlPlaneTemplate": (AGE,),
    "DevCluster": (LABELED, AGE),
    "DevClusterTemplate": (AGE,),
    "DevMachine": _INFRA_MACHINE,
    "DevMachineTemplate": (AGE,),
    "DockerCluster": (LABELED, AGE),
    "DockerClusterTemplate": (AGE,),
    "DockerMachine": _INFRA_MACHINE,
    "DockerMachineTemplate": (AGE,),
    "DockerMachinePool": (AGE,),
    "DockerMachinePoolTemplate": (AGE,),
}
