"""The Machines of a KubeadmControlPlane: their template, rollout and remediation."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import (
    ContractVersionedObjectReference,
    ReadinessGates,
    Taints,
    TemplateMeta,
)
from kapy.api.machine import MachineDeletionSpec
from kapy.kube import Document
from kapy.kube.model import Model, rules


class KubeadmControlPlaneMachineNamingSpec(Model):
    """KubeadmControlPlaneMachineNamingSpec configures the names of control plane Machines."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    template: Annotated[
        str,
        rules(
            "template is the Go template of the names of new Machines. It knows "
            ".cluster.name, .kubeadmControlPlane.name and .random, and must contain .random. "
            "A name that is longer than 63 characters is cut and gets a random suffix. "
            "Defaults to {{ .kubeadmControlPlane.name }}-{{ .random }}. Existing Machines "
            "keep their names.",
            min_length=1,
            max_length=256,
        ),
    ] = ""


class KubeadmControlPlaneMachineTemplateSpec(Model):
    """KubeadmControlPlaneMachineTemplateSpec is the desired state of control plane Machines."""

    infrastructure_ref: Annotated[
        ContractVersionedObjectReference,
        rules(
            "infrastructureRef is a reference to the template of the infrastructure of the "
            "Machines. A change rolls out new Machines."
        ),
    ]
    readiness_gates: Annotated[
        ReadinessGates,
        rules(
            "readinessGates are additional conditions of the Machines that must hold before "
            "their Ready condition becomes True. The controller adds conditions of its own "
            "components. At most 32 are allowed. A change is applied in place."
        ),
    ] = field(default_factory=list)
    deletion: Annotated[
        MachineDeletionSpec,
        rules("deletion configures the deletion of the Machines. A change is applied in place."),
    ] = field(default_factory=MachineDeletionSpec)
    taints: Taints = field(default_factory=list)


class KubeadmControlPlaneMachineTemplate(Model, kw_only=True):
    """KubeadmControlPlaneMachineTemplate describes control plane Machines."""

    metadata: Annotated[
        TemplateMeta,
        rules(
            "metadata are the labels and annotations of the Machines and of their bootstrap "
            "and infrastructure objects. A change is applied in place."
        ),
    ] = field(default_factory=TemplateMeta)
    spec: Annotated[
        KubeadmControlPlaneMachineTemplateSpec,
        rules(
            "spec is the desired state of the Machines. A change of infrastructureRef rolls "
            "out new Machines. Other changes are applied in place."
        ),
    ]


class KubeadmControlPlaneRemediationSpec(Model):
    """KubeadmControlPlaneRemediationSpec configures the replacement of unhealthy control plane
    Machines.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    max_retry: Annotated[
        int | None,
        rules(
            "maxRetry is the maximum number of consecutive retries when the replacement of a "
            "Machine fails again. If it is not set, there is no limit.",
            format="int32",
        ),
    ] = None
    retry_period_seconds: Annotated[
        int | None,
        rules(
            "retryPeriodSeconds is the time in seconds between two retries. Defaults to 0, "
            "with which the controller retries at once.",
            format="int32",
            minimum=0,
        ),
    ] = None
    min_healthy_period_seconds: Annotated[
        int | None,
        rules(
            "minHealthyPeriodSeconds is the time in seconds after which a failure of a "
            "replacement no longer counts as a retry. Defaults to 3600, which is one hour.",
            format="int32",
            minimum=0,
        ),
    ] = None


class KubeadmControlPlaneRolloutBeforeSpec(Model):
    """KubeadmControlPlaneRolloutBeforeSpec lists events before which Machines are replaced."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    certificates_expiry_days: Annotated[
        int,
        rules(
            "certificatesExpiryDays is the number of days before the expiry of its "
            "certificates at which a Machine is replaced by a rollout. It must be at least 7 "
            "and less than certificateValidityPeriodDays. If it is not set, expiry causes no "
            "rollout.",
            format="int32",
            minimum=7,
        ),
    ] = 0


class KubeadmControlPlaneRolloutStrategyRollingUpdate(Model):
    """KubeadmControlPlaneRolloutStrategyRollingUpdate configures the steps of a rolling update."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    max_surge: Annotated[
        int | str | None,
        rules(
            "maxSurge is the number of Machines above replicas that may exist during a "
            "rollout. Allowed values are 0 and 1. A percentage is not supported. With 1 a "
            "new Machine is created before an old one is deleted. With 0 an old one is "
            "deleted first, which requires at least 3 replicas. Defaults to 1."
        ),
    ] = None


class KubeadmControlPlaneRolloutStrategy(Model):
    """KubeadmControlPlaneRolloutStrategy selects how old Machines are replaced."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    type: Annotated[
        str,
        rules(
            "type is the type of the rollout. The only allowed value is RollingUpdate. "
            "Defaults to RollingUpdate.",
            enum=["RollingUpdate"],
        ),
    ]
    rolling_update: Annotated[
        KubeadmControlPlaneRolloutStrategyRollingUpdate,
        rules(
            "rollingUpdate configures the steps of a rolling update. Its maxSurge defaults to 1."
        ),
    ] = field(default_factory=KubeadmControlPlaneRolloutStrategyRollingUpdate)


class KubeadmControlPlaneRolloutSpec(Model):
    """KubeadmControlPlaneRolloutSpec configures when and how control plane Machines are
    replaced.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    before: Annotated[
        KubeadmControlPlaneRolloutBeforeSpec,
        rules("before lists events before which Machines are replaced by a rollout."),
    ] = field(default_factory=KubeadmControlPlaneRolloutBeforeSpec)
    after: Annotated[
        str | None,
        rules(
            "after is a time in the format of RFC 3339. Once it has passed, Machines that "
            "were created before it are replaced by a rollout, even if nothing else has "
            "changed.",
            format="date-time",
        ),
    ] = None
    strategy: Annotated[
        KubeadmControlPlaneRolloutStrategy | None,
        rules(
            "strategy selects how old Machines are replaced. Its type defaults to RollingUpdate.",
            zero="omitted",
        ),
    ] = None
