"""KubeadmControlPlane(Template) as v1beta1 served them."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api import (
    kubeadm_control_plane_machines,
    kubeadm_control_plane_rollout,
)
from kapy.api.status import Selector, Versions
from kapy.api.v1beta1.embedded import (
    FailureMessage,
    ObjectReference,
    OldConditions,
    OldGeneration,
    TemplateMeta,
    V1Beta2Replicas,
    counter,
)
from kapy.api.v1beta1.kubeadm_config import KubeadmConfigSpec
from kapy.api.v1beta1.machine import (
    NodeDeletionTimeout,
    NodeDrainTimeout,
    NodeVolumeDetachTimeout,
    ReadinessGates,
    Taints,
)
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube import Document
from kapy.kube.model import rules
from kapy.kube.names import Resource


class KubeadmControlPlaneMachineTemplate(OldModel):
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    infrastructure_ref: Annotated[
        ObjectReference,
        rules(same_as="KubeadmControlPlaneMachineTemplateSpec.infrastructureRef", required=True),
    ] = field(default_factory=ObjectReference)
    readiness_gates: Annotated[
        ReadinessGates, rules(same_as="KubeadmControlPlaneMachineTemplateSpec.readinessGates")
    ] = field(default_factory=list)
    node_drain_timeout: NodeDrainTimeout = None
    node_volume_detach_timeout: NodeVolumeDetachTimeout = None
    node_deletion_timeout: NodeDeletionTimeout = None
    taints: Taints = field(default_factory=list)


class RolloutBefore(OldModel):
    """RolloutBefore lists events before which Machines are replaced."""

    certificates_expiry_days: Annotated[
        int | None,
        rules(
            same_as="KubeadmControlPlaneRolloutBeforeSpec.certificatesExpiryDays", format="int32"
        ),
    ] = None


class RollingUpdate(kubeadm_control_plane_rollout.KubeadmControlPlaneRolloutStrategyRollingUpdate):
    """RollingUpdate configures the steps of a rolling update."""

    SCHEMA: ClassVar[Document] = {}


class RolloutStrategy(OldModel):
    """RolloutStrategy selects how old Machines are replaced."""

    type: Annotated[
        str, rules(same_as="KubeadmControlPlaneRolloutStrategy.type", enum=["RollingUpdate"])
    ] = ""
    rolling_update: Annotated[
        RollingUpdate | None, rules(same_as="KubeadmControlPlaneRolloutStrategy.rollingUpdate")
    ] = None


class RemediationStrategy(OldModel):
    """RemediationStrategy configures the replacement of unhealthy control plane Machines."""

    max_retry: Annotated[
        int | None,
        rules(same_as="KubeadmControlPlaneRemediationSpec.maxRetry", format="int32"),
    ] = None
    retry_period: Annotated[
        str,
        rules(
            "retryPeriod is the time between two retries, as a duration, for example 5m. "
            "Defaults to 0s, with which the controller retries at once.",
            zero="written",
            form="duration",
        ),
    ] = "0s"
    min_healthy_period: Annotated[
        str | None,
        rules(
            "minHealthyPeriod is the time after which a failure of a replacement no longer "
            "counts as a retry, as a duration, for example 1h. Defaults to 1h.",
            form="duration",
        ),
    ] = None


class MachineNamingStrategy(kubeadm_control_plane_machines.KubeadmControlPlaneMachineNamingSpec):
    """MachineNamingStrategy configures the names of control plane Machines."""

    SCHEMA: ClassVar[Document] = {}


_RolloutBefore = Annotated[
    RolloutBefore | None,
    rules("rolloutBefore lists events before which Machines are replaced by a rollout."),
]
_RolloutAfter = Annotated[
    str | None,
    rules(
        "rolloutAfter is a time in the format of RFC 3339. Once it has passed, Machines "
        "that were created before it are replaced by a rollout, even if nothing else has "
        "changed.",
        format="date-time",
    ),
]
_RolloutStrategy = Annotated[
    RolloutStrategy | None,
    rules(
        "rolloutStrategy selects how old Machines are replaced. Defaults to the type "
        "RollingUpdate with a maxSurge of 1.",
        default={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
    ),
]
_RemediationStrategy = Annotated[
    RemediationStrategy | None,
    rules(
        "remediationStrategy configures the replacement of Machines that a "
        "MachineHealthCheck has marked as unhealthy. A change is applied in place."
    ),
]
_MachineNaming = Annotated[
    MachineNamingStrategy | None,
    rules(
        "machineNamingStrategy configures the names of new Machines. Their bootstrap and "
        "infrastructure objects have the same names. A change is applied in place. "
        "Existing Machines keep their names."
    ),
]
_ConfigSpec = Annotated[KubeadmConfigSpec, rules(required=True)]


class KubeadmControlPlaneSpec(OldModel, kw_only=True):
    replicas: Annotated[
        int | None,
        rules(
            format="int32",
        ),
    ] = None
    version: Annotated[str, rules(min_length=1, max_length=256)]
    machine_template: KubeadmControlPlaneMachineTemplate
    kubeadm_config_spec: _ConfigSpec = field(default_factory=KubeadmConfigSpec)
    rollout_before: _RolloutBefore = None
    rollout_after: _RolloutAfter = None
    rollout_strategy: _RolloutStrategy = None
    remediation_strategy: _RemediationStrategy = None
    machine_naming_strategy: _MachineNaming = None


class LastRemediationStatus(OldModel):
    machine: Annotated[str, rules(min_length=1, max_length=253)]
    timestamp: Annotated[str, rules(same_as="LastRemediationStatus.time", format="date-time")]
    retry_count: Annotated[int, rules(format="int32")]


class KubeadmControlPlaneStatus(OldModel):
    selector: Selector = ""
    replicas: Annotated[int, counter()] = 0
    version: Annotated[
        str | None,
        rules(min_length=1, max_length=256),
    ] = None
    updated_replicas: Annotated[
        int, counter(same_as="KubeadmControlPlaneV1Beta1DeprecatedStatus.updatedReplicas")
    ] = 0
    ready_replicas: Annotated[
        int, counter(same_as="KubeadmControlPlaneV1Beta1DeprecatedStatus.readyReplicas")
    ] = 0
    unavailable_replicas: Annotated[
        int, counter(same_as="KubeadmControlPlaneV1Beta1DeprecatedStatus.unavailableReplicas")
    ] = 0
    initialized: Annotated[
        bool,
        rules(
            same_as="KubeadmControlPlaneInitializationStatus.controlPlaneInitialized",
            zero="written",
        ),
    ] = False
    ready: Annotated[
        bool,
        rules(
            "ready tells whether the API server of the control plane accepts requests.",
            zero="written",
        ),
    ] = False
    failure_reason: Annotated[
        str, rules(same_as="MachineSetV1Beta1DeprecatedStatus.failureReason")
    ] = ""
    failure_message: FailureMessage = None
    observed_generation: OldGeneration = 0
    conditions: OldConditions = field(default_factory=list)
    last_remediation: LastRemediationStatus | None = None
    versions: Versions = field(default_factory=list)
    v1beta2: V1Beta2Replicas = None


class KubeadmControlPlaneTemplateMachineTemplate(OldModel):
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    node_drain_timeout: NodeDrainTimeout = None
    node_volume_detach_timeout: NodeVolumeDetachTimeout = None
    node_deletion_timeout: NodeDeletionTimeout = None
    taints: Taints = field(default_factory=list)


class KubeadmControlPlaneTemplateResourceSpec(OldModel):
    machine_template: KubeadmControlPlaneTemplateMachineTemplate | None = None
    kubeadm_config_spec: _ConfigSpec = field(default_factory=KubeadmConfigSpec)
    rollout_before: _RolloutBefore = None
    rollout_after: _RolloutAfter = None
    rollout_strategy: _RolloutStrategy = None
    remediation_strategy: _RemediationStrategy = None
    machine_naming_strategy: _MachineNaming = None


class KubeadmControlPlaneTemplateResource(OldModel):
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: Annotated[KubeadmControlPlaneTemplateResourceSpec, rules(required=True)] = field(
        default_factory=KubeadmControlPlaneTemplateResourceSpec
    )


class KubeadmControlPlaneTemplateSpec(OldModel):
    template: Annotated[
        KubeadmControlPlaneTemplateResource,
        rules(required=True),
    ] = field(default_factory=KubeadmControlPlaneTemplateResource)


class KubeadmControlPlane(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "controlplane.cluster.x-k8s.io", "v1beta1", "kubeadmcontrolplanes", "KubeadmControlPlane"
    )

    spec: KubeadmControlPlaneSpec = field(
        default_factory=lambda: KubeadmControlPlaneSpec(
            version="", machine_template=KubeadmControlPlaneMachineTemplate()
        )
    )
    status: KubeadmControlPlaneStatus = field(default_factory=KubeadmControlPlaneStatus)


class KubeadmControlPlaneTemplate(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "controlplane.cluster.x-k8s.io",
        "v1beta1",
        "kubeadmcontrolplanetemplates",
        "KubeadmControlPlaneTemplate",
    )

    spec: KubeadmControlPlaneTemplateSpec = field(default_factory=KubeadmControlPlaneTemplateSpec)
