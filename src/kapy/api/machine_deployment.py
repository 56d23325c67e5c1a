"""MachineDeployment: Machines that are replaced step by step when their template changes."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.machine import MachineNamingSpec, MachineTemplateSpec
from kapy.api.machine_set import (
    ClusterName,
    MachineSelector,
    MachineSetDeletionSpec,
    WantedReplicas,
)
from kapy.api.status import (
    AvailableReplicas,
    Conditions,
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

Phase = Annotated[
    str,
    rules(
        "phase summarizes the state of the MachineDeployment in one word. Values are "
        "ScalingUp, ScalingDown, Running, Failed and Unknown. Programs should read the "
        "conditions instead.",
        enum=["ScalingUp", "ScalingDown", "Running", "Failed", "Unknown"],
    ),
]


class MachineDeploymentRemediationSpec(Model):
    """MachineDeploymentRemediationSpec configures the replacement of unhealthy Machines."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    max_in_flight: Annotated[
        int | str | None,
        rules(
            "maxInFlight is the maximum number of Machines that are remediated at the same "
            "time. It is an absolute number or a percentage of replicas, which is rounded "
            "up. If it is not set, there is no limit. Only Machines of the current "
            "MachineSet are remediated. Older MachineSets wait for the rollout."
        ),
    ] = None


class MachineDeploymentRolloutStrategyRollingUpdate(Model):
    """MachineDeploymentRolloutStrategyRollingUpdate configures the steps of a rolling update."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    max_unavailable: Annotated[
        int | str | None,
        rules(
            "maxUnavailable is the maximum number of Machines below replicas that may be "
            "unavailable during a rollout. It is an absolute number or a percentage of "
            "replicas, which is rounded down. It must not be 0 if maxSurge is 0. Defaults to "
            "0."
        ),
    ] = None
    max_surge: Annotated[
        int | str | None,
        rules(
            "maxSurge is the maximum number of Machines above replicas that may exist during "
            "a rollout. It is an absolute number or a percentage of replicas, which is "
            "rounded up. It must not be 0 if maxUnavailable is 0. Defaults to 1."
        ),
    ] = None


class MachineDeploymentRolloutStrategy(Model):
    """MachineDeploymentRolloutStrategy selects how old Machines are replaced."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    type: Annotated[
        str,
        rules(
            "type is the type of the rollout. Allowed values are RollingUpdate and OnDelete. "
            "With RollingUpdate the controller replaces Machines step by step. With OnDelete "
            "it creates a new Machine when a user deletes an old one. Defaults to "
            "RollingUpdate.",
            enum=["RollingUpdate", "OnDelete"],
        ),
    ]
    rolling_update: Annotated[
        MachineDeploymentRolloutStrategyRollingUpdate,
        rules(
            "rollingUpdate configures the steps of a rolling update. It is used only if type "
            "is RollingUpdate. It defaults to a maxSurge of 1 and a maxUnavailable of 0."
        ),
    ] = field(default_factory=MachineDeploymentRolloutStrategyRollingUpdate)


class MachineDeploymentRolloutSpec(Model):
    """MachineDeploymentRolloutSpec configures when and how Machines are replaced."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    after: Annotated[
        str | None,
        rules(
            "after is a time in the format of RFC 3339. Once it has passed, Machines that "
            "were created before it are replaced by a rollout, even if the template has not "
            "changed.",
            format="date-time",
        ),
    ] = None
    strategy: Annotated[
        MachineDeploymentRolloutStrategy | None,
        rules(
            "strategy selects how old Machines are replaced. Its type defaults to RollingUpdate.",
            zero="omitted",
        ),
    ] = None


class MachineDeploymentSpec(Model, kw_only=True):
    """MachineDeploymentSpec is the desired state of a MachineDeployment."""

    cluster_name: ClusterName
    replicas: WantedReplicas = None
    rollout: Annotated[
        MachineDeploymentRolloutSpec,
        rules(
            "rollout configures when and how Machines are replaced. Its strategy defaults to "
            "a RollingUpdate."
        ),
    ] = field(default_factory=MachineDeploymentRolloutSpec)
    selector: MachineSelector
    template: Annotated[
        MachineTemplateSpec,
        rules(
            "template describes the Machines. Labels to which selector defaults are added to "
            "it. Changes of labels, annotations, minReadySeconds, readinessGates, deletion "
            "and taints are applied to existing Machines in place. Any other change rolls "
            "out new Machines."
        ),
    ]
    machine_naming: Annotated[
        MachineNamingSpec,
        rules(
            "machineNaming configures the names of new Machines. Their bootstrap and "
            "infrastructure objects have the same names. A change is applied in place. "
            "Existing Machines keep their names."
        ),
    ] = field(default_factory=MachineNamingSpec)
    remediation: Annotated[
        MachineDeploymentRemediationSpec,
        rules(
            "remediation configures the replacement of unhealthy Machines. A change is "
            "applied in place."
        ),
    ] = field(default_factory=MachineDeploymentRemediationSpec)
    deletion: Annotated[
        MachineSetDeletionSpec,
        rules(
            "deletion configures the selection of Machines for deletion. A change is applied "
            "in place."
        ),
    ] = field(default_factory=MachineSetDeletionSpec)
    paused: Annotated[
        bool | None,
        rules(
            "paused suspends rollouts of the MachineDeployment. Scaling still works. "
            "Defaults to false. To stop the controller altogether, set the annotation "
            "cluster.x-k8s.io/paused."
        ),
    ] = None


class MachineDeploymentV1Beta1DeprecatedStatus(Model):
    """MachineDeploymentV1Beta1DeprecatedStatus groups the status fields of a MachineDeployment in
    v1beta1 that v1beta2 does not have.
    """

    conditions: V1Beta1Conditions = field(default_factory=list)
    updated_replicas: Annotated[
        int,
        rules(
            "updatedReplicas is the number of Machines of the MachineSet for the current "
            "template. This field is deprecated and goes away together with v1beta1.",
            format="int32",
            zero="written",
        ),
    ] = 0
    ready_replicas: Annotated[
        int,
        rules(
            same_as="MachineSetV1Beta1DeprecatedStatus.readyReplicas",
            format="int32",
            zero="written",
        ),
    ] = 0
    available_replicas: Annotated[
        int,
        rules(
            same_as="MachineSetV1Beta1DeprecatedStatus.availableReplicas",
            format="int32",
            zero="written",
        ),
    ] = 0
    unavailable_replicas: Annotated[
        int,
        rules(
            "unavailableReplicas is the number of Machines that are still missing until all "
            "replicas are available. This field is deprecated and goes away together with "
            "v1beta1.",
            format="int32",
            zero="written",
        ),
    ] = 0


class MachineDeploymentDeprecatedStatus(Model):
    """MachineDeploymentDeprecatedStatus groups the status fields of a MachineDeployment in older
    API versions.
    """

    v1beta1: Annotated[
        MachineDeploymentV1Beta1DeprecatedStatus | None,
        rules(same_as="DeprecatedConditions.v1beta1"),
    ] = None


class MachineDeploymentStatus(Model):
    """MachineDeploymentStatus is the observed state of a MachineDeployment."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Annotated[
        Conditions,
        rules(
            "conditions are the observations of the MachineDeployment's current state. Types "
            "are Available, MachinesReady, MachinesUpToDate, RollingOut, ScalingUp, "
            "ScalingDown, Remediating, Deleting and Paused. The message of RollingOut lists "
            "the reasons of the rollout. The reason is RollingOut during a rollout and "
            "NotRollingOut otherwise."
        ),
    ] = field(default_factory=list)
    observed_generation: ObservedGeneration = 0
    selector: Selector = ""
    replicas: Replicas = None
    ready_replicas: ReadyReplicas = None
    available_replicas: AvailableReplicas = None
    up_to_date_replicas: UpToDateReplicas = None
    versions: Versions = field(default_factory=list)
    phase: Phase = ""
    deprecated: Annotated[
        MachineDeploymentDeprecatedStatus | None,
        rules(same_as="MachineHealthCheckStatus.deprecated"),
    ] = None


class MachineDeployment(Object, kw_only=True):
    """MachineDeployment keeps a number of Machines running and replaces them by a rollout when
    their template changes. It creates one MachineSet for each revision of the template.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta2", "machinedeployments", "MachineDeployment"
    )

    spec: Annotated[
        MachineDeploymentSpec, rules("spec is the desired state of the MachineDeployment.")
    ]
    status: Annotated[
        MachineDeploymentStatus,
        rules(
            "status is the observed state of the MachineDeployment. The MachineDeployment "
            "controller writes it."
        ),
    ] = field(default_factory=MachineDeploymentStatus)
