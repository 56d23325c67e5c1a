"""The columns of `kubectl get` for kinds in version v1beta1."""

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
    Column(
        "ProviderID", ".spec.providerID", "Identifier of the machine at the infrastructure provider"
    ),
    Column("Ready", ".status.ready", "True after the machine has been provisioned"),
    AGE,
)

_DESIRED = count("Desired", ".spec.replicas", "Number of desired Machines", priority=WIDE)
_REPLICAS = count("Replicas", ".status.replicas", "Number of Machines that exist")
_READY = count("Ready", ".status.readyReplicas", "Number of Machines with a ready Node")

COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "Cluster": (
        Column("ClusterClass", ".spec.topology.class", "Name of the ClusterClass of the Cluster"),
        PHASE,
        AGE,
        version(".spec.topology.version"),
    ),
    "ClusterClass": (AGE,),
    "Machine": (
        CLUSTER,
        Column("NodeName", ".status.nodeRef.name", "Name of the Node of the Machine"),
        Column(
            "ProviderID",
            ".spec.providerID",
            "Identifier of the machine at the infrastructure provider",
        ),
        PHASE,
        AGE,
        version(".spec.version"),
    ),
    "MachineSet": (
        CLUSTER,
        _DESIRED,
        _REPLICAS,
        _READY,
        count(
            "Available",
            ".status.availableReplicas",
            "Number of Machines with a Node that has been ready for minReadySeconds",
        ),
        AGE,
        version(".spec.template.spec.version"),
    ),
    "MachineDeployment": (
        CLUSTER,
        _DESIRED,
        _REPLICAS,
        _READY,
        count(
            "Updated",
            ".status.updatedReplicas",
            "Number of Machines that match the current template",
        ),
        count(
            "Unavailable",
            ".status.unavailableReplicas",
            "Number of Machines that are missing until all replicas are available",
        ),
        PHASE,
        AGE,
        version(".spec.template.spec.version"),
    ),
    "MachinePool": (
        CLUSTER,
        _DESIRED,
        Column("Replicas", ".status.replicas", "Number of machines that exist"),
        PHASE,
        AGE,
        version(".spec.template.spec.version"),
    ),
    "MachineHealthCheck": (
        CLUSTER,
        count("ExpectedMachines", ".status.expectedMachines", "Number of selected Machines"),
        Column(
            "MaxUnhealthy",
            ".spec.maxUnhealthy",
            "Number of unhealthy Machines up to which remediation is allowed",
        ),
        count(
            "CurrentHealthy",
            ".status.currentHealthy",
            "Number of selected Machines that are healthy",
        ),
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
            "True after the API server has accepted requests for the first time",
            "boolean",
        ),
        Column(
            "API Server Available",
            ".status.ready",
            "True while the API server accepts requests",
            "boolean",
        ),
        count("Desired", ".spec.replicas", "Number of desired Machines", priority=WIDE),
        count("Replicas", ".status.replicas", "Number of Machines that exist"),
        count("Ready", ".status.readyReplicas", "Number of Machines with a ready Node"),
        count(
            "Updated",
            ".status.updatedReplicas",
            "Number of Machines that match the current template",
        ),
        count(
            "Unavailable",
            ".status.unavailableReplicas",
            "Number of Machines that are missing until all replicas are available",
        ),
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
