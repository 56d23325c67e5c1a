"""A Cluster's managed topology as v1beta1 had it."""

from typing import Annotated, Any

from msgspec import field

from kapy.api.cluster_topology import ControlPlaneTopologyRolloutSpec
from kapy.api.patterns import DNS_LABEL
from kapy.api.v1beta1.embedded import TemplateMeta
from kapy.api.v1beta1.health_check import MachineHealthCheckClass
from kapy.api.v1beta1.machine import (
    NodeDeletionTimeout,
    NodeDrainTimeout,
    NodeVolumeDetachTimeout,
    ReadinessGates,
    Taints,
)
from kapy.api.v1beta1.model import OldModel
from kapy.api.v1beta1.rollout import MachineDeploymentStrategy
from kapy.kube.model import rules

_Rollout = Annotated[
    ControlPlaneTopologyRolloutSpec, rules("When Machines are replaced.", zero="omitted")
]


class ClusterVariable(OldModel, kw_only=True):
    name: Annotated[str, rules(min_length=1, max_length=256)]
    definition_from: Annotated[
        str,
        rules("Which definition of the variable is meant; nobody asks any more.", max_length=256),
    ] = ""
    value: Any


Variables = Annotated[
    list[ClusterVariable],
    rules(
        "Values of variables that ClusterClasses define.",
        max_items=1000,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["name"],
    ),
]


class VariableOverrides(OldModel):
    overrides: Variables = field(default_factory=list)


class MachineHealthCheckTopology(MachineHealthCheckClass):
    """How unhealthy Machines of one cluster are treated."""

    enable: Annotated[
        bool | None,
        rules("Whether there is a MachineHealthCheck; the ClusterClass decides unless said."),
    ] = None


_HealthCheck = Annotated[
    MachineHealthCheckTopology | None, rules("How unhealthy Machines are found and replaced.")
]


class ControlPlaneTopology(OldModel):
    metadata: Annotated[
        TemplateMeta, rules("Labels and annotations for the control plane and its Machines.")
    ] = field(default_factory=TemplateMeta)
    replicas: Annotated[int | None, rules(format="int32")] = None
    rollout: _Rollout = field(default_factory=ControlPlaneTopologyRolloutSpec)
    machine_health_check: _HealthCheck = None
    node_drain_timeout: NodeDrainTimeout = None
    node_volume_detach_timeout: NodeVolumeDetachTimeout = None
    node_deletion_timeout: NodeDeletionTimeout = None
    taints: Taints = field(default_factory=list)
    readiness_gates: ReadinessGates = field(default_factory=list)
    variables: VariableOverrides | None = None


_Name = Annotated[str, rules("What it is called within the topology.", min_length=1, max_length=63)]
_Replicas = Annotated[
    int | None,
    rules("How many there should be; an autoscaler decides when absent.", format="int32"),
]
_MinReadySeconds = Annotated[
    int | None,
    rules("How long a Machine must be ready to count as available.", format="int32"),
]


class MachineDeploymentTopology(OldModel, kw_only=True):
    metadata: Annotated[
        TemplateMeta, rules("Labels and annotations for the MachineDeployment and its Machines.")
    ] = field(default_factory=TemplateMeta)
    class_: Annotated[
        str,
        rules(min_length=1, max_length=256),
    ]
    name: _Name
    failure_domain: Annotated[
        str | None,
        rules(min_length=1, max_length=256),
    ] = None
    replicas: _Replicas = None
    machine_health_check: _HealthCheck = None
    node_drain_timeout: NodeDrainTimeout = None
    node_volume_detach_timeout: NodeVolumeDetachTimeout = None
    node_deletion_timeout: NodeDeletionTimeout = None
    taints: Taints = field(default_factory=list)
    min_ready_seconds: _MinReadySeconds = None
    readiness_gates: ReadinessGates = field(default_factory=list)
    rollout: _Rollout = field(default_factory=ControlPlaneTopologyRolloutSpec)
    strategy: Annotated[MachineDeploymentStrategy | None, rules("How Machines are replaced.")] = (
        None
    )
    variables: VariableOverrides | None = None


class MachinePoolTopology(OldModel, kw_only=True):
    metadata: Annotated[
        TemplateMeta, rules("Labels and annotations for the MachinePool and its machines.")
    ] = field(default_factory=TemplateMeta)
    class_: Annotated[str, rules(min_length=1, max_length=256)]
    name: _Name
    failure_domains: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(max_items=100),
    ] = field(default_factory=list)
    node_drain_timeout: NodeDrainTimeout = None
    node_volume_detach_timeout: NodeVolumeDetachTimeout = None
    node_deletion_timeout: NodeDeletionTimeout = None
    taints: Taints = field(default_factory=list)
    min_ready_seconds: _MinReadySeconds = None
    replicas: _Replicas = None
    variables: VariableOverrides | None = None


class WorkersTopology(OldModel):
    machine_deployments: Annotated[
        list[MachineDeploymentTopology],
        rules(
            max_items=2000,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
    machine_pools: Annotated[
        list[MachinePoolTopology],
        rules(
            max_items=2000,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)


class Topology(OldModel, kw_only=True):
    class_: Annotated[str, rules("The ClusterClass's name.", min_length=1, max_length=253)] = field(
        name="class"
    )
    class_namespace: Annotated[
        str,
        rules(
            "The ClusterClass's namespace; the Cluster's own unless said.",
            min_length=1,
            max_length=63,
            pattern=DNS_LABEL,
        ),
    ] = ""
    version: Annotated[str, rules(min_length=1, max_length=256)]
    rollout_after: Annotated[str | None, rules("Nobody reads it any more.", format="date-time")] = (
        None
    )
    control_plane: ControlPlaneTopology = field(default_factory=ControlPlaneTopology)
    workers: WorkersTopology | None = None
    variables: Variables = field(default_factory=list)
