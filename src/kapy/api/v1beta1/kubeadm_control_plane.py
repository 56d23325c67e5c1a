"""KubeadmControlPlane(Template) as v1beta1 served them."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api import kubeadm_control_plane
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
    metadata: Annotated[
        TemplateMeta, rules("Labels and annotations for the Machines and what belongs to them.")
    ] = field(default_factory=TemplateMeta)
    infrastructure_ref: Annotated[
        ObjectReference,
        rules("The provider's template that their infrastructure is made of.", required=True),
    ] = field(default_factory=ObjectReference)
    readiness_gates: ReadinessGates = field(default_factory=list)
    node_drain_timeout: NodeDrainTimeout = None
    node_volume_detach_timeout: NodeVolumeDetachTimeout = None
    node_deletion_timeout: NodeDeletionTimeout = None
    taints: Taints = field(default_factory=list)


class RolloutBefore(OldModel):
    """What control plane Machines are replaced ahead of."""

    certificates_expiry_days: Annotated[
        int | None,
        rules(
            "So many days before its certificates run out, a Machine is replaced.", format="int32"
        ),
    ] = None


class RollingUpdate(kubeadm_control_plane.KubeadmControlPlaneRolloutStrategyRollingUpdate):
    """The size of the steps."""

    SCHEMA: ClassVar[Document] = {}


class RolloutStrategy(OldModel):
    """How control plane Machines are replaced."""

    type: Annotated[
        str, rules("Step by step (RollingUpdate); there is no other way.", enum=["RollingUpdate"])
    ] = ""
    rolling_update: Annotated[RollingUpdate | None, rules("The size of the steps.")] = None


class RemediationStrategy(OldModel):
    """How unhealthy control plane Machines are replaced."""

    max_retry: Annotated[
        int | None,
        rules(
            "How often the same slot is tried again; without a limit unless said.", format="int32"
        ),
    ] = None
    retry_period: Annotated[
        str,
        rules("How long to wait before it is tried again.", zero="written", form="duration"),
    ] = "0s"
    min_healthy_period: Annotated[
        str | None,
        rules(
            "How long a machine must be healthy before a failure is no retry; 1h unless said.",
            form="duration",
        ),
    ] = None


class MachineNamingStrategy(kubeadm_control_plane.KubeadmControlPlaneMachineNamingSpec):
    """How the control plane's Machines are named."""

    SCHEMA: ClassVar[Document] = {}


_RolloutBefore = Annotated[RolloutBefore | None, rules("What Machines are replaced ahead of.")]
_RolloutAfter = Annotated[
    str | None,
    rules(
        "Machines that are older than this moment are replaced once it has passed.",
        format="date-time",
    ),
]
_RolloutStrategy = Annotated[
    RolloutStrategy | None,
    rules(
        "How Machines are replaced.",
        default={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
    ),
]
_RemediationStrategy = Annotated[
    RemediationStrategy | None, rules("How unhealthy Machines are replaced.")
]
_MachineNaming = Annotated[MachineNamingStrategy | None, rules("How Machines are named.")]
_ConfigSpec = Annotated[KubeadmConfigSpec, rules("How the machines are set up.", required=True)]


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
    timestamp: Annotated[str, rules("When that began.", format="date-time")]
    retry_count: Annotated[int, rules(format="int32")]


class KubeadmControlPlaneStatus(OldModel):
    selector: Selector = ""
    replicas: Annotated[int, counter("How many Machines there are.")] = 0
    version: Annotated[
        str | None,
        rules(min_length=1, max_length=256),
    ] = None
    updated_replicas: Annotated[int, counter("How many Machines have the newest template.")] = 0
    ready_replicas: Annotated[int, counter("How many Machines are ready.")] = 0
    unavailable_replicas: Annotated[int, counter("How many Machines are still missing.")] = 0
    initialized: Annotated[
        bool, rules("Whether the API server has answered once.", zero="written")
    ] = False
    ready: Annotated[bool, rules("Whether the API server can be used.", zero="written")] = False
    failure_reason: Annotated[str, rules("In one word, why it failed for good.")] = ""
    failure_message: FailureMessage = None
    observed_generation: OldGeneration = 0
    conditions: OldConditions = field(default_factory=list)
    last_remediation: LastRemediationStatus | None = None
    versions: Versions = field(default_factory=list)
    v1beta2: V1Beta2Replicas = None


class KubeadmControlPlaneTemplateMachineTemplate(OldModel):
    metadata: Annotated[TemplateMeta, rules("Labels and annotations for the Machines.")] = field(
        default_factory=TemplateMeta
    )
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
    metadata: Annotated[TemplateMeta, rules("Labels and annotations for them.")] = field(
        default_factory=TemplateMeta
    )
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
