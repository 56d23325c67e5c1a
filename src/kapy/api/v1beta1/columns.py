"""What `kubectl get` shows of each of our kinds when it asks for v1beta1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.columns import AGE, CLUSTER, LABELED, PHASE, Column, owner, version

_INFRA_MACHINE = (
    LABELED,
    owner("Machine"),
    Column("ProviderID", ".spec.providerID", "The infrastructure's name of the machine"),
    Column("Ready", ".status.ready", "Whether the machine is there"),
    AGE,
)

COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "Machine": (
        CLUSTER,
        Column("NodeName", ".status.nodeRef.name", "The Node that the Machine became"),
        Column("ProviderID", ".spec.providerID", "The infrastructure's name of the machine"),
        PHASE,
        AGE,
        version(".spec.version"),
    ),
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
