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

_Rollout = Annotated[ControlPlaneTopologyRolloutSpec, rules(zero="omitted")]


class ClusterVariable(OldModel, kw_only=True):
    name: Annotated[str, rules(min_length=1, max_length=256)]
    definition_from: Annotated[
        str,
        rules(
            "definitionFrom is the origin of the definition of the variable. It is "
            "deprecated and ignored, because all definitions of a variable must agree. At "
            "most 256 characters are allowed.",
            max_length=256,
        ),
    ] = ""
    value: Any


Variables = Annotated[
    list[ClusterVariable],
    rules(
        max_items=1000,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["name"],
    ),
]


class VariableOverrides(OldModel):
    overrides: Variables = field(default_factory=list)


class MachineHealthCheckTopology(MachineHealthCheckClass):
    """MachineHealthCheckTopology configures the MachineHealthCheck of some Machines of one
    Cluster.
    """

    enable: Annotated[
        bool | None,
        rules(same_as="ControlPlaneTopologyHealthCheck.enabled"),
    ] = None


_HealthCheck = Annotated[
    MachineHealthCheckTopology | None,
    rules(
        "machineHealthCheck configures the MachineHealthCheck of the Machines. It takes "
        "precedence over the ClusterClass."
    ),
]


class ControlPlaneTopology(OldModel):
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    replicas: Annotated[int | None, rules(format="int32")] = None
    rollout: _Rollout = field(default_factory=ControlPlaneTopologyRolloutSpec)
    machine_health_check: _HealthCheck = None
    node_drain_timeout: NodeDrainTimeout = None
    node_volume_detach_timeout: NodeVolumeDetachTimeout = None
    node_deletion_timeout: NodeDeletionTimeout = None
    taints: Annotated[Taints, rules(same_as="ControlPlaneTopology.taints")] = field(
        default_factory=list
    )
    readiness_gates: ReadinessGates = field(default_factory=list)
    variables: VariableOverrides | None = None


_Name = Annotated[str, rules(min_length=1, max_length=63)]
_Replicas = Annotated[
    int | None,
    rules(format="int32"),
]
_MinReadySeconds = Annotated[
    int | None,
    rules(format="int32"),
]


class MachineDeploymentTopology(OldModel, kw_only=True):
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
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
    taints: Annotated[Taints, rules(same_as="MachineDeploymentTopology.taints")] = field(
        default_factory=list
    )
    min_ready_seconds: _MinReadySeconds = None
    readiness_gates: ReadinessGates = field(default_factory=list)
    rollout: _Rollout = field(default_factory=ControlPlaneTopologyRolloutSpec)
    strategy: Annotated[
        MachineDeploymentStrategy | None, rules(same_as="MachineDeploymentRolloutSpec.strategy")
    ] = None
    variables: VariableOverrides | None = None


class MachinePoolTopology(OldModel, kw_only=True):
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    class_: Annotated[str, rules(min_length=1, max_length=256)]
    name: _Name
    failure_domains: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(max_items=100),
    ] = field(default_factory=list)
    node_drain_timeout: NodeDrainTimeout = None
    node_volume_detach_timeout: NodeVolumeDetachTimeout = None
    node_deletion_timeout: NodeDeletionTimeout = None
    taints: Annotated[Taints, rules(same_as="MachinePoolTopology.taints")] = field(
        default_factory=list
    )
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
    class_: Annotated[
        str,
        rules(
            "class is the name of the ClusterClass of the cluster. A change moves the "
            "Cluster to another class, which must be compatible.",
            min_length=1,
            max_length=253,
        ),
    ] = field(name="class")
    class_namespace: Annotated[
        str,
        rules(
            "classNamespace is the namespace of the ClusterClass. If it is not set, it "
            "defaults to the namespace of the Cluster.",
            min_length=1,
            max_length=63,
            pattern=DNS_LABEL,
        ),
    ] = ""
    version: Annotated[str, rules(min_length=1, max_length=256)]
    rollout_after: Annotated[
        str | None,
        rules(
            "rolloutAfter was a time for a rollout of the whole cluster. It is deprecated "
            "and ignored. Set rolloutAfter of the control plane and of each "
            "MachineDeployment instead.",
            format="date-time",
        ),
    ] = None
    control_plane: ControlPlaneTopology = field(default_factory=ControlPlaneTopology)
    workers: WorkersTopology | None = None
    variables: Variables = field(default_factory=list)
