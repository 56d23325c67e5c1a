"""KubeadmControlPlane(Template): control plane Machines that kubeadm makes."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import (
    ContractVersionedObjectReference,
    ReadinessGates,
    Taints,
    TemplateMeta,
)
from kapy.api.kubeadm_config import KubeadmConfigSpec
from kapy.api.machine import MachineDeletionSpec
from kapy.api.status import (
    AvailableReplicas,
    Conditions,
    FailureMessage,
    ObservedGeneration,
    ReadyReplicas,
    Replicas,
    Selector,
    UpToDateReplicas,
    V1Beta1Conditions,
    Versions,
)
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class KubeadmControlPlaneMachineNamingSpec(Model):
    """How the control plane's Machines are named."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    template: Annotated[
        str,
        rules(
            "A Go template of names, with .cluster.name, .kubeadmControlPlane.name and .random.",
            min_length=1,
            max_length=256,
        ),
    ] = ""


class KubeadmControlPlaneMachineTemplateSpec(Model):
    """What the control plane's Machines should be."""

    infrastructure_ref: Annotated[
        ContractVersionedObjectReference,
        rules("The provider's template that their infrastructure is made of."),
    ]
    readiness_gates: ReadinessGates = field(default_factory=list)
    deletion: Annotated[MachineDeletionSpec, rules("How Machines are deleted.")] = field(
        default_factory=MachineDeletionSpec
    )
    taints: Taints = field(default_factory=list)


class KubeadmControlPlaneMachineTemplate(Model, kw_only=True):
    """What the control plane's Machines look like."""

    metadata: Annotated[
        TemplateMeta, rules("Labels and annotations for the Machines and what belongs to them.")
    ] = field(default_factory=TemplateMeta)
    spec: Annotated[KubeadmControlPlaneMachineTemplateSpec, rules("What the Machines should be.")]


class KubeadmControlPlaneRemediationSpec(Model):
    """How unhealthy control plane Machines are replaced."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    max_retry: Annotated[
        int | None,
        rules(
            "How often the same slot is tried again; without a limit unless said.", format="int32"
        ),
    ] = None
    retry_period_seconds: Annotated[
        int | None, rules("How long to wait before it is tried again.", format="int32", minimum=0)
    ] = None
    min_healthy_period_seconds: Annotated[
        int | None,
        rules(
            "How long a machine must be healthy before a failure is no retry; 3600 unless said.",
            format="int32",
            minimum=0,
        ),
    ] = None


class KubeadmControlPlaneRolloutBeforeSpec(Model):
    """What control plane Machines are replaced ahead of."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    certificates_expiry_days: Annotated[
        int,
        rules(
            "So many days before its certificates run out, a Machine is replaced.",
            format="int32",
            minimum=7,
        ),
    ] = 0


class KubeadmControlPlaneRolloutStrategyRollingUpdate(Model):
    """The size of the steps."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    max_surge: Annotated[
        int | str | None,
        rules("Whether one machine is added first (1, unless said) or removed first (0)."),
    ] = None


class KubeadmControlPlaneRolloutStrategy(Model):
    """How control plane Machines are replaced."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    type: Annotated[
        str, rules("Step by step (RollingUpdate); there is no other way.", enum=["RollingUpdate"])
    ]
    rolling_update: Annotated[
        KubeadmControlPlaneRolloutStrategyRollingUpdate, rules("The size of the steps.")
    ] = field(default_factory=KubeadmControlPlaneRolloutStrategyRollingUpdate)


class KubeadmControlPlaneRolloutSpec(Model):
    """When and how control plane Machines are replaced."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    before: Annotated[
        KubeadmControlPlaneRolloutBeforeSpec, rules("What Machines are replaced ahead of.")
    ] = field(default_factory=KubeadmControlPlaneRolloutBeforeSpec)
    after: Annotated[
        str | None,
        rules(
            "Machines that are older than this moment are replaced once it has passed.",
            format="date-time",
        ),
    ] = None
    strategy: Annotated[
        KubeadmControlPlaneRolloutStrategy | None,
        rules("How Machines are replaced.", zero="omitted"),
    ] = None


class KubeadmControlPlaneSpec(Model, kw_only=True):
    """What a control plane should be."""

    replicas: Annotated[
        int | None,
        rules(
            "How many machines there should be; an odd number while they run etcd, 1 unless said.",
            format="int32",
        ),
    ] = None
    version: Annotated[
        str, rules("The Kubernetes version of the control plane.", min_length=1, max_length=256)
    ]
    machine_template: Annotated[
        KubeadmControlPlaneMachineTemplate, rules("What the control plane's Machines look like.")
    ]
    kubeadm_config_spec: Annotated[KubeadmConfigSpec, rules("How the machines are set up.")] = (
        field(default_factory=KubeadmConfigSpec)
    )
    rollout: Annotated[
        KubeadmControlPlaneRolloutSpec, rules("When and how Machines are replaced.")
    ] = field(default_factory=KubeadmControlPlaneRolloutSpec)
    remediation: Annotated[
        KubeadmControlPlaneRemediationSpec, rules("How unhealthy Machines are replaced.")
    ] = field(default_factory=KubeadmControlPlaneRemediationSpec)
    machine_naming: Annotated[
        KubeadmControlPlaneMachineNamingSpec, rules("How Machines are named.")
    ] = field(default_factory=KubeadmControlPlaneMachineNamingSpec)


class KubeadmControlPlaneV1Beta1DeprecatedStatus(Model):
    """What v1beta1 reported of a KubeadmControlPlane."""

    conditions: V1Beta1Conditions = field(default_factory=list)
    failure_reason: Annotated[
        str, rules("In one word, why the object failed for good; v1beta1 reported it.")
    ] = ""
    failure_message: FailureMessage = None
    updated_replicas: Annotated[
        int,
        rules(
            "How many Machines had the newest template; v1beta1 reported it.",
            format="int32",
            zero="written",
        ),
    ] = field(default_factory=int)
    ready_replicas: Annotated[
        int,
        rules(
            "How many Machines were ready in the sense of v1beta1.", format="int32", zero="written"
        ),
    ] = field(default_factory=int)
    unavailable_replicas: Annotated[
        int,
        rules(
            "How many Machines were still missing in the sense of v1beta1.",
            format="int32",
            zero="written",
        ),
    ] = field(default_factory=int)


class KubeadmControlPlaneDeprecatedStatus(Model):
    """What older versions of the API reported of a KubeadmControlPlane."""

    v1beta1: Annotated[
        KubeadmControlPlaneV1Beta1DeprecatedStatus | None, rules("What v1beta1 reported.")
    ] = None


class KubeadmControlPlaneInitializationStatus(Model):
    """Milestones of a control plane's first provisioning."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    control_plane_initialized: Annotated[
        bool | None, rules("Whether the API server has answered once.")
    ] = None


class LastRemediationStatus(Model):
    """What was replaced last because it was unhealthy."""

    machine: Annotated[str, rules("The Machine that was replaced.", min_length=1, max_length=253)]
    time: Annotated[str, rules("When that began.", format="date-time")]
    retry_count: Annotated[
        int,
        rules(
            "How often its slot had been tried again by then.",
            format="int32",
            minimum=0,
            zero="kept",
        ),
    ]


class KubeadmControlPlaneStatus(Model):
    """What was seen of a control plane."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Conditions = field(default_factory=list)
    initialization: Annotated[
        KubeadmControlPlaneInitializationStatus,
        rules("Milestones of the first provisioning; they are not taken back."),
    ] = field(default_factory=KubeadmControlPlaneInitializationStatus)
    selector: Selector = ""
    replicas: Replicas = None
    ready_replicas: ReadyReplicas = None
    available_replicas: AvailableReplicas = None
    up_to_date_replicas: UpToDateReplicas = None
    versions: Versions = field(default_factory=list)
    version: Annotated[
        str, rules("The oldest version that the control plane runs.", min_length=1, max_length=256)
    ] = ""
    observed_generation: ObservedGeneration = 0
    last_remediation: Annotated[
        LastRemediationStatus | None,
        rules("What was replaced last because it was unhealthy.", zero="omitted"),
    ] = None
    deprecated: Annotated[
        KubeadmControlPlaneDeprecatedStatus | None,
        rules("Values that only readers of v1beta1 still look at."),
    ] = None


class KubeadmControlPlaneTemplateMachineTemplateSpec(Model):
    """What the Machines of such control planes should be."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    deletion: Annotated[MachineDeletionSpec, rules("How Machines are deleted.")] = field(
        default_factory=MachineDeletionSpec
    )
    taints: Taints = field(default_factory=list)


class KubeadmControlPlaneTemplateMachineTemplate(Model):
    """What the Machines of such control planes look like."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    metadata: Annotated[TemplateMeta, rules("Labels and annotations for the Machines.")] = field(
        default_factory=TemplateMeta
    )
    spec: Annotated[
        KubeadmControlPlaneTemplateMachineTemplateSpec, rules("What the Machines should be.")
    ] = field(default_factory=KubeadmControlPlaneTemplateMachineTemplateSpec)


class KubeadmControlPlaneTemplateResourceSpec(Model):
    """What such control planes should be; the rest comes from the topology."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    machine_template: Annotated[
        KubeadmControlPlaneTemplateMachineTemplate,
        rules("What the control plane's Machines look like."),
    ] = field(default_factory=KubeadmControlPlaneTemplateMachineTemplate)
    kubeadm_config_spec: Annotated[KubeadmConfigSpec, rules("How the machines are set up.")] = (
        field(default_factory=KubeadmConfigSpec)
    )
    rollout: Annotated[
        KubeadmControlPlaneRolloutSpec, rules("When and how Machines are replaced.")
    ] = field(default_factory=KubeadmControlPlaneRolloutSpec)
    remediation: Annotated[
        KubeadmControlPlaneRemediationSpec, rules("How unhealthy Machines are replaced.")
    ] = field(default_factory=KubeadmControlPlaneRemediationSpec)
    machine_naming: Annotated[
        KubeadmControlPlaneMachineNamingSpec, rules("How Machines are named.")
    ] = field(default_factory=KubeadmControlPlaneMachineNamingSpec)


class KubeadmControlPlaneTemplateResource(Model):
    """What KubeadmControlPlanes made of the template look like."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    metadata: Annotated[TemplateMeta, rules("Labels and annotations for them.")] = field(
        default_factory=TemplateMeta
    )
    spec: Annotated[KubeadmControlPlaneTemplateResourceSpec, rules("What they should be.")] = field(
        default_factory=KubeadmControlPlaneTemplateResourceSpec
    )


class KubeadmControlPlaneTemplateSpec(Model):
    """What a KubeadmControlPlaneTemplate holds."""

    template: Annotated[
        KubeadmControlPlaneTemplateResource,
        rules("What KubeadmControlPlanes look like.", required=True),
    ] = field(default_factory=KubeadmControlPlaneTemplateResource)


class KubeadmControlPlane(Object, kw_only=True):
    """The control plane of a cluster, made of machines that kubeadm sets up."""

    RESOURCE: ClassVar[Resource] = Resource(
        "controlplane.cluster.x-k8s.io", "v1beta2", "kubeadmcontrolplanes", "KubeadmControlPlane"
    )

    spec: Annotated[KubeadmControlPlaneSpec, rules("The control plane as it is wanted.")]
    status: Annotated[
        KubeadmControlPlaneStatus, rules("The control plane as it was seen last.")
    ] = field(default_factory=KubeadmControlPlaneStatus)


class KubeadmControlPlaneTemplate(Object, kw_only=True):
    """What KubeadmControlPlanes are made of."""

    RESOURCE: ClassVar[Resource] = Resource(
        "controlplane.cluster.x-k8s.io",
        "v1beta2",
        "kubeadmcontrolplanetemplates",
        "KubeadmControlPlaneTemplate",
    )

    spec: Annotated[KubeadmControlPlaneTemplateSpec, rules("The template as it is wanted.")] = (
        field(default_factory=KubeadmControlPlaneTemplateSpec)
    )
