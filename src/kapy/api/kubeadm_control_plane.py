"""KubeadmControlPlane(Template): control plane Machines that kubeadm makes."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import (
    Taints,
    TemplateMeta,
)
from kapy.api.kubeadm_config import KubeadmConfigSpec
from kapy.api.kubeadm_control_plane_machines import (
    KubeadmControlPlaneMachineNamingSpec,
    KubeadmControlPlaneMachineTemplate,
    KubeadmControlPlaneRemediationSpec,
    KubeadmControlPlaneRolloutSpec,
)
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


class KubeadmControlPlaneSpec(Model, kw_only=True):
    """KubeadmControlPlaneSpec is the desired state of a KubeadmControlPlane."""

    replicas: Annotated[
        int | None,
        rules(
            "replicas is the number of desired control plane Machines. It must be greater "
            "than 0, and odd unless etcd is external. Defaults to 1. A change scales the "
            "control plane by one Machine at a time. It is no rollout.",
            format="int32",
        ),
    ] = None
    version: Annotated[
        str,
        rules(
            "version is the desired Kubernetes version, for example v1.34.1. A missing "
            "leading v is added on admission. A change rolls out new Machines. It can be "
            "increased by one minor version at a time.",
            min_length=1,
            max_length=256,
        ),
    ]
    machine_template: Annotated[
        KubeadmControlPlaneMachineTemplate,
        rules("machineTemplate describes the control plane Machines."),
    ]
    kubeadm_config_spec: Annotated[
        KubeadmConfigSpec,
        rules(
            "kubeadmConfigSpec is the desired content of the bootstrap data of the Machines. "
            "Most changes roll out new Machines. Some fields of clusterConfiguration are "
            "immutable."
        ),
    ] = field(default_factory=KubeadmConfigSpec)
    rollout: Annotated[
        KubeadmControlPlaneRolloutSpec,
        rules(
            "rollout configures when and how Machines are replaced. Its strategy defaults to "
            "a RollingUpdate with a maxSurge of 1."
        ),
    ] = field(default_factory=KubeadmControlPlaneRolloutSpec)
    remediation: Annotated[
        KubeadmControlPlaneRemediationSpec,
        rules(
            "remediation configures the replacement of Machines that a MachineHealthCheck "
            "has marked as unhealthy. A change is applied in place."
        ),
    ] = field(default_factory=KubeadmControlPlaneRemediationSpec)
    machine_naming: Annotated[
        KubeadmControlPlaneMachineNamingSpec,
        rules(
            "machineNaming configures the names of new Machines. Their bootstrap and "
            "infrastructure objects have the same names. A change is applied in place. "
            "Existing Machines keep their names."
        ),
    ] = field(default_factory=KubeadmControlPlaneMachineNamingSpec)


class KubeadmControlPlaneV1Beta1DeprecatedStatus(Model):
    """KubeadmControlPlaneV1Beta1DeprecatedStatus groups the status fields of a
    KubeadmControlPlane in v1beta1 that v1beta2 does not have.
    """

    conditions: V1Beta1Conditions = field(default_factory=list)
    failure_reason: Annotated[
        str, rules(same_as="MachineSetV1Beta1DeprecatedStatus.failureReason")
    ] = ""
    failure_message: FailureMessage = None
    updated_replicas: Annotated[
        int,
        rules(
            "updatedReplicas is the number of Machines that match the current specification. "
            "This field is deprecated and goes away together with v1beta1.",
            format="int32",
            zero="written",
        ),
    ] = field(default_factory=int)
    ready_replicas: Annotated[
        int,
        rules(
            same_as="MachineSetV1Beta1DeprecatedStatus.readyReplicas",
            format="int32",
            zero="written",
        ),
    ] = field(default_factory=int)
    unavailable_replicas: Annotated[
        int,
        rules(
            same_as="MachineDeploymentV1Beta1DeprecatedStatus.unavailableReplicas",
            format="int32",
            zero="written",
        ),
    ] = field(default_factory=int)


class KubeadmControlPlaneDeprecatedStatus(Model):
    """KubeadmControlPlaneDeprecatedStatus groups the status fields of a KubeadmControlPlane in
    older API versions.
    """

    v1beta1: Annotated[
        KubeadmControlPlaneV1Beta1DeprecatedStatus | None,
        rules(same_as="DeprecatedConditions.v1beta1"),
    ] = None


class KubeadmControlPlaneInitializationStatus(Model):
    """KubeadmControlPlaneInitializationStatus records the milestones of a control plane's
    first provisioning. A milestone stays true once it is reached.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    control_plane_initialized: Annotated[
        bool | None, rules(same_as="ClusterInitializationStatus.controlPlaneInitialized")
    ] = None


class LastRemediationStatus(Model):
    """LastRemediationStatus records the last replacement of an unhealthy Machine."""

    machine: Annotated[
        str,
        rules(
            "machine is the name of the Machine that was replaced.", min_length=1, max_length=253
        ),
    ]
    time: Annotated[
        str,
        rules(
            "time is the time at which the replacement started, in the format of RFC 3339.",
            format="date-time",
        ),
    ]
    retry_count: Annotated[
        int,
        rules(
            "retryCount is the number of consecutive retries before this replacement. The "
            "first replacement has 0.",
            format="int32",
            minimum=0,
            zero="kept",
        ),
    ]


class KubeadmControlPlaneStatus(Model):
    """KubeadmControlPlaneStatus is the observed state of a KubeadmControlPlane."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Annotated[
        Conditions,
        rules(
            "conditions are the observations of the KubeadmControlPlane's current state. "
            "Types are Available, Initialized, CertificatesAvailable, EtcdClusterHealthy, "
            "ControlPlaneComponentsHealthy, MachinesReady, MachinesUpToDate, RollingOut, "
            "ScalingUp, ScalingDown, Remediating, Deleting and Paused."
        ),
    ] = field(default_factory=list)
    initialization: Annotated[
        KubeadmControlPlaneInitializationStatus,
        rules(
            "initialization records the milestones of the control plane's first "
            "provisioning. The Cluster controller reads it."
        ),
    ] = field(default_factory=KubeadmControlPlaneInitializationStatus)
    selector: Selector = ""
    replicas: Replicas = None
    ready_replicas: ReadyReplicas = None
    available_replicas: AvailableReplicas = None
    up_to_date_replicas: UpToDateReplicas = None
    versions: Versions = field(default_factory=list)
    version: Annotated[
        str,
        rules(
            "version is the lowest Kubernetes version of the control plane Machines.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    observed_generation: ObservedGeneration = 0
    last_remediation: Annotated[
        LastRemediationStatus | None,
        rules(
            "lastRemediation records the last replacement of an unhealthy Machine.", zero="omitted"
        ),
    ] = None
    deprecated: Annotated[
        KubeadmControlPlaneDeprecatedStatus | None,
        rules(same_as="MachineHealthCheckStatus.deprecated"),
    ] = None


class KubeadmControlPlaneTemplateMachineTemplateSpec(Model):
    """KubeadmControlPlaneTemplateMachineTemplateSpec is the desired state of the Machines of
    control planes that are created from a template.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    deletion: Annotated[
        MachineDeletionSpec, rules(same_as="KubeadmControlPlaneMachineTemplateSpec.deletion")
    ] = field(default_factory=MachineDeletionSpec)
    taints: Taints = field(default_factory=list)


class KubeadmControlPlaneTemplateMachineTemplate(Model):
    """KubeadmControlPlaneTemplateMachineTemplate describes the Machines of control planes that
    are created from a template.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    metadata: Annotated[
        TemplateMeta, rules(same_as="KubeadmControlPlaneMachineTemplate.metadata")
    ] = field(default_factory=TemplateMeta)
    spec: Annotated[
        KubeadmControlPlaneTemplateMachineTemplateSpec,
        rules(
            "spec is the desired state of the Machines. The infrastructure template comes "
            "from the ClusterClass."
        ),
    ] = field(default_factory=KubeadmControlPlaneTemplateMachineTemplateSpec)


class KubeadmControlPlaneTemplateResourceSpec(Model):
    """KubeadmControlPlaneTemplateResourceSpec is the desired state of control planes that are
    created from a template. The topology controller adds replicas, version and the infrastructure
    template.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    machine_template: Annotated[
        KubeadmControlPlaneTemplateMachineTemplate,
        rules(same_as="KubeadmControlPlaneSpec.machineTemplate"),
    ] = field(default_factory=KubeadmControlPlaneTemplateMachineTemplate)
    kubeadm_config_spec: Annotated[
        KubeadmConfigSpec, rules(same_as="KubeadmControlPlaneSpec.kubeadmConfigSpec")
    ] = field(default_factory=KubeadmConfigSpec)
    rollout: Annotated[
        KubeadmControlPlaneRolloutSpec, rules(same_as="KubeadmControlPlaneSpec.rollout")
    ] = field(default_factory=KubeadmControlPlaneRolloutSpec)
    remediation: Annotated[
        KubeadmControlPlaneRemediationSpec, rules(same_as="KubeadmControlPlaneSpec.remediation")
    ] = field(default_factory=KubeadmControlPlaneRemediationSpec)
    machine_naming: Annotated[
        KubeadmControlPlaneMachineNamingSpec, rules(same_as="KubeadmControlPlaneSpec.machineNaming")
    ] = field(default_factory=KubeadmControlPlaneMachineNamingSpec)


class KubeadmControlPlaneTemplateResource(Model):
    """KubeadmControlPlaneTemplateResource describes the KubeadmControlPlanes that are created
    from a template.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    metadata: Annotated[
        TemplateMeta, rules("metadata are the labels and annotations of the KubeadmControlPlanes.")
    ] = field(default_factory=TemplateMeta)
    spec: Annotated[
        KubeadmControlPlaneTemplateResourceSpec,
        rules(
            "spec is the desired state of the KubeadmControlPlanes. This field is immutable. "
            "To change it, create another template and refer to it."
        ),
    ] = field(default_factory=KubeadmControlPlaneTemplateResourceSpec)


class KubeadmControlPlaneTemplateSpec(Model):
    """KubeadmControlPlaneTemplateSpec is the desired state of a KubeadmControlPlaneTemplate."""

    template: Annotated[
        KubeadmControlPlaneTemplateResource,
        rules(
            "template describes the KubeadmControlPlanes that are created. Its spec is immutable.",
            required=True,
        ),
    ] = field(default_factory=KubeadmControlPlaneTemplateResource)


class KubeadmControlPlane(Object, kw_only=True):
    """KubeadmControlPlane manages control plane Machines that kubeadm sets up, and the etcd
    cluster on them.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "controlplane.cluster.x-k8s.io", "v1beta2", "kubeadmcontrolplanes", "KubeadmControlPlane"
    )

    spec: Annotated[
        KubeadmControlPlaneSpec, rules("spec is the desired state of the KubeadmControlPlane.")
    ]
    status: Annotated[
        KubeadmControlPlaneStatus,
        rules(
            "status is the observed state of the KubeadmControlPlane. The kubeadm control "
            "plane provider writes it."
        ),
    ] = field(default_factory=KubeadmControlPlaneStatus)


class KubeadmControlPlaneTemplate(Object, kw_only=True):
    """KubeadmControlPlaneTemplate is a template from which KubeadmControlPlanes are created.
    ClusterClasses refer to it.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "controlplane.cluster.x-k8s.io",
        "v1beta2",
        "kubeadmcontrolplanetemplates",
        "KubeadmControlPlaneTemplate",
    )

    spec: Annotated[
        KubeadmControlPlaneTemplateSpec,
        rules("spec is the desired state of the KubeadmControlPlaneTemplate."),
    ] = field(default_factory=KubeadmControlPlaneTemplateSpec)
