"""ClusterClass as v1beta1 served it."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.cluster_class import ClusterClassUpgrade
from kapy.api.v1beta1.cluster import ClusterAvailabilityGate
from kapy.api.v1beta1.cluster_class_patches import ClusterClassPatch
from kapy.api.v1beta1.cluster_class_variables import (
    ClusterClassStatusVariable,
    ClusterClassVariable,
)
from kapy.api.v1beta1.cluster_class_workers import (
    ClassNaming,
    HealthCheck,
    LocalObjectTemplate,
    Naming,
    TemplateRef,
    WorkersClass,
)
from kapy.api.v1beta1.embedded import ConditionsStatus, OldConditions, TemplateMeta
from kapy.api.v1beta1.machine import (
    NodeDeletionTimeout,
    NodeDrainTimeout,
    NodeVolumeDetachTimeout,
    ReadinessGates,
    Taints,
)
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource


class ControlPlaneClass(OldModel):
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    ref: TemplateRef = None
    machine_infrastructure: LocalObjectTemplate | None = None
    machine_health_check: HealthCheck = None
    naming_strategy: Naming = None
    node_drain_timeout: NodeDrainTimeout = None
    node_volume_detach_timeout: NodeVolumeDetachTimeout = None
    node_deletion_timeout: NodeDeletionTimeout = None
    taints: Annotated[Taints, rules(same_as="ControlPlaneClass.taints")] = field(
        default_factory=list
    )
    readiness_gates: ReadinessGates = field(default_factory=list)


class ClusterClassSpec(OldModel):
    availability_gates: Annotated[
        list[ClusterAvailabilityGate],
        rules(
            max_items=32,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["conditionType"],
        ),
    ] = field(default_factory=list)
    infrastructure: LocalObjectTemplate = field(default_factory=LocalObjectTemplate)
    infrastructure_naming_strategy: Annotated[
        ClassNaming | None, rules(same_as="InfrastructureClass.naming")
    ] = None
    control_plane: ControlPlaneClass = field(default_factory=ControlPlaneClass)
    workers: WorkersClass = field(default_factory=WorkersClass)
    variables: Annotated[
        list[ClusterClassVariable],
        rules(max_items=1000),
    ] = field(default_factory=list)
    patches: Annotated[
        list[ClusterClassPatch],
        rules(max_items=1000),
    ] = field(default_factory=list)
    upgrade: Annotated[ClusterClassUpgrade, rules(zero="omitted")] = field(
        default_factory=ClusterClassUpgrade
    )
    kubernetes_versions: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class ClusterClassStatus(OldModel):
    variables: Annotated[
        list[ClusterClassStatusVariable],
        rules(max_items=1000),
    ] = field(default_factory=list)
    conditions: OldConditions = field(default_factory=list)
    observed_generation: Annotated[
        int,
        rules(format="int64"),
    ] = 0
    v1beta2: Annotated[
        ConditionsStatus | None,
        rules(
            "v1beta2 groups the status fields that v1beta2 reports. They prepare clients for "
            "v1beta2."
        ),
    ] = None


class ClusterClass(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta1", "clusterclasses", "ClusterClass"
    )

    spec: ClusterClassSpec = field(default_factory=ClusterClassSpec)
    status: ClusterClassStatus = field(default_factory=ClusterClassStatus)
