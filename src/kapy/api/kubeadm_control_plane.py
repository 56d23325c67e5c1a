"""KubeadmControlPlane(Template): control plane Machines that kubeadm makes."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.embedded import (
    ContractVersionedObjectReference,
    MachineReadinessGate,
    MachineTaint,
    StatusVersion,
    TemplateMeta,
)
from kapy.api.kubeadm_config import KubeadmConfigSpec
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class KubeadmControlPlaneMachineNamingSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    template: Annotated[str, rules(min_length=1, max_length=256)] = ""


class KubeadmControlPlaneMachineTemplateDeletionSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    node_drain_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None
    node_volume_detach_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = (
        None
    )
    node_deletion_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None


class KubeadmControlPlaneMachineTemplateSpec(Model):
    infrastructure_ref: ContractVersionedObjectReference
    readiness_gates: Annotated[
        list[MachineReadinessGate],
        rules(
            min_items=1,
            max_items=32,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["conditionType"],
        ),
    ] = field(default_factory=list)
    deletion: KubeadmControlPlaneMachineTemplateDeletionSpec = field(
        default_factory=KubeadmControlPlaneMachineTemplateDeletionSpec
    )
    taints: Annotated[
        list[MachineTaint],
        rules(
            min_items=1,
            max_items=64,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["key", "effect"],
        ),
    ] = field(default_factory=list)


class KubeadmControlPlaneMachineTemplate(Model):
    spec: KubeadmControlPlaneMachineTemplateSpec
    metadata: TemplateMeta = field(default_factory=TemplateMeta)


class KubeadmControlPlaneRemediationSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    max_retry: Annotated[int | None, rules(format="int32")] = None
    retry_period_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None
    min_healthy_period_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None


class KubeadmControlPlaneRolloutBeforeSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    certificates_expiry_days: Annotated[int, rules(format="int32", minimum=7)] = 0


class KubeadmControlPlaneRolloutStrategyRollingUpdate(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    max_surge: int | str | None = None


class KubeadmControlPlaneRolloutStrategy(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    type: Annotated[str, rules(enum=["RollingUpdate"])]
    rolling_update: KubeadmControlPlaneRolloutStrategyRollingUpdate = field(
        default_factory=KubeadmControlPlaneRolloutStrategyRollingUpdate
    )


class KubeadmControlPlaneRolloutSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    before: KubeadmControlPlaneRolloutBeforeSpec = field(
        default_factory=KubeadmControlPlaneRolloutBeforeSpec
    )
    after: Annotated[str | None, rules(format="date-time")] = None
    strategy: KubeadmControlPlaneRolloutStrategy | None = None


class KubeadmControlPlaneSpec(Model):
    version: Annotated[str, rules(min_length=1, max_length=256)]
    machine_template: KubeadmControlPlaneMachineTemplate
    replicas: Annotated[int | None, rules(format="int32")] = None
    kubeadm_config_spec: KubeadmConfigSpec = field(default_factory=KubeadmConfigSpec)
    rollout: KubeadmControlPlaneRolloutSpec = field(default_factory=KubeadmControlPlaneRolloutSpec)
    remediation: KubeadmControlPlaneRemediationSpec = field(
        default_factory=KubeadmControlPlaneRemediationSpec
    )
    machine_naming: KubeadmControlPlaneMachineNamingSpec = field(
        default_factory=KubeadmControlPlaneMachineNamingSpec
    )


class KubeadmControlPlaneV1Beta1DeprecatedStatus(Model):
    conditions: list[V1Beta1Condition] = field(default_factory=list)
    failure_reason: str = ""
    failure_message: Annotated[str | None, rules(min_length=1, max_length=10240)] = None
    updated_replicas: Annotated[int, rules(format="int32")] = 0
    ready_replicas: Annotated[int, rules(format="int32")] = 0
    unavailable_replicas: Annotated[int, rules(format="int32")] = 0


class KubeadmControlPlaneDeprecatedStatus(Model):
    v1beta1: KubeadmControlPlaneV1Beta1DeprecatedStatus | None = None


class KubeadmControlPlaneInitializationStatus(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    control_plane_initialized: bool | None = None


class LastRemediationStatus(Model):
    machine: Annotated[str, rules(min_length=1, max_length=253)]
    time: Annotated[str, rules(format="date-time")]
    retry_count: Annotated[int, rules(format="int32", minimum=0)]


class KubeadmControlPlaneStatus(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Annotated[
        list[Condition],
        rules(max_items=32, x_kubernetes_list_type="map", x_kubernetes_list_map_keys=["type"]),
    ] = field(default_factory=list)
    initialization: KubeadmControlPlaneInitializationStatus = field(
        default_factory=KubeadmControlPlaneInitializationStatus
    )
    selector: Annotated[str, rules(min_length=1, max_length=4096)] = ""
    replicas: Annotated[int | None, rules(format="int32")] = None
    ready_replicas: Annotated[int | None, rules(format="int32")] = None
    available_replicas: Annotated[int | None, rules(format="int32")] = None
    up_to_date_replicas: Annotated[int | None, rules(format="int32")] = None
    versions: Annotated[
        list[StatusVersion],
        rules(
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["version"],
        ),
    ] = field(default_factory=list)
    version: Annotated[str, rules(min_length=1, max_length=256)] = ""
    observed_generation: Annotated[int, rules(format="int64", minimum=1)] = 0
    last_remediation: LastRemediationStatus | None = None
    deprecated: KubeadmControlPlaneDeprecatedStatus | None = None


class KubeadmControlPlaneTemplateMachineTemplateDeletionSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    node_drain_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None
    node_volume_detach_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = (
        None
    )
    node_deletion_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None


class KubeadmControlPlaneTemplateMachineTemplateSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    deletion: KubeadmControlPlaneTemplateMachineTemplateDeletionSpec = field(
        default_factory=KubeadmControlPlaneTemplateMachineTemplateDeletionSpec
    )
    taints: Annotated[
        list[MachineTaint],
        rules(
            min_items=1,
            max_items=64,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["key", "effect"],
        ),
    ] = field(default_factory=list)


class KubeadmControlPlaneTemplateMachineTemplate(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: KubeadmControlPlaneTemplateMachineTemplateSpec = field(
        default_factory=KubeadmControlPlaneTemplateMachineTemplateSpec
    )


class KubeadmControlPlaneTemplateResourceSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    machine_template: KubeadmControlPlaneTemplateMachineTemplate = field(
        default_factory=KubeadmControlPlaneTemplateMachineTemplate
    )
    kubeadm_config_spec: KubeadmConfigSpec = field(default_factory=KubeadmConfigSpec)
    rollout: KubeadmControlPlaneRolloutSpec = field(default_factory=KubeadmControlPlaneRolloutSpec)
    remediation: KubeadmControlPlaneRemediationSpec = field(
        default_factory=KubeadmControlPlaneRemediationSpec
    )
    machine_naming: KubeadmControlPlaneMachineNamingSpec = field(
        default_factory=KubeadmControlPlaneMachineNamingSpec
    )


class KubeadmControlPlaneTemplateResource(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: KubeadmControlPlaneTemplateResourceSpec = field(
        default_factory=KubeadmControlPlaneTemplateResourceSpec
    )


class KubeadmControlPlaneTemplateSpec(Model):
    template: Annotated[KubeadmControlPlaneTemplateResource, rules(required=True)] = field(
        default_factory=KubeadmControlPlaneTemplateResource
    )


class KubeadmControlPlane(Object, kw_only=True):
    """KubeadmControlPlane"""

    RESOURCE: ClassVar[Resource] = Resource(
        "controlplane.cluster.x-k8s.io", "v1beta2", "kubeadmcontrolplanes", "KubeadmControlPlane"
    )

    spec: KubeadmControlPlaneSpec
    status: KubeadmControlPlaneStatus = field(default_factory=KubeadmControlPlaneStatus)


class KubeadmControlPlaneTemplate(Object, kw_only=True):
    """KubeadmControlPlaneTemplate"""

    RESOURCE: ClassVar[Resource] = Resource(
        "controlplane.cluster.x-k8s.io",
        "v1beta2",
        "kubeadmcontrolplanetemplates",
        "KubeadmControlPlaneTemplate",
    )

    spec: KubeadmControlPlaneTemplateSpec = field(default_factory=KubeadmControlPlaneTemplateSpec)
