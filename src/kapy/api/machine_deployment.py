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
        "In one word, what is going on with it.",
        enum=["ScalingUp", "ScalingDown", "Running", "Failed", "Unknown"],
    ),
]


class MachineDeploymentRemediationSpec(Model):
    """How unhealthy Machines are replaced."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    max_in_flight: Annotated[
        int | str | None,
        rules("How many Machines (number or percentage) may be replaced at the same time."),
    ] = None


class MachineDeploymentRolloutStrategyRollingUpdate(Model):
    """The size of the steps of a rolling update."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    max_unavailable: Annotated[
        int | str | None,
        rules("How many Machines (number or percentage) may be missing meanwhile; 0 unless said."),
    ] = None
    max_surge: Annotated[
        int | str | None,
        rules(
            "How many more Machines (number or percentage) there may be meanwhile; 1 unless said."
        ),
    ] = None


class MachineDeploymentRolloutStrategy(Model):
    """How Machines are replaced."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    type: Annotated[
        str,
        rules(
            "Step by step (RollingUpdate) or when somebody deletes them (OnDelete).",
            enum=["RollingUpdate", "OnDelete"],
        ),
    ]
    rolling_update: Annotated[
        MachineDeploymentRolloutStrategyRollingUpdate,
        rules("The size of the steps of a rolling update."),
    ] = field(default_factory=MachineDeploymentRolloutStrategyRollingUpdate)


class MachineDeploymentRolloutSpec(Model):
    """When and how Machines are replaced."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    after: Annotated[
        str | None,
        rules(
            "Machines that are older than this moment are replaced once it has passed.",
            format="date-time",
        ),
    ] = None
    strategy: Annotated[
        MachineDeploymentRolloutStrategy | None,
        rules("How Machines are replaced.", zero="omitted"),
    ] = None


class MachineDeploymentSpec(Model, kw_only=True):
    """What a MachineDeployment should be."""

    cluster_name: ClusterName
    replicas: WantedReplicas = None
    rollout: Annotated[
        MachineDeploymentRolloutSpec, rules("When and how Machines are replaced.")
    ] = field(default_factory=MachineDeploymentRolloutSpec)
    selector: MachineSelector
    template: Annotated[MachineTemplateSpec, rules("What new Machines look like.")]
    machine_naming: Annotated[MachineNamingSpec, rules("How Machines are named.")] = field(
        default_factory=MachineNamingSpec
    )
    remediation: Annotated[
        MachineDeploymentRemediationSpec, rules("How unhealthy Machines are replaced.")
    ] = field(default_factory=MachineDeploymentRemediationSpec)
    deletion: Annotated[MachineSetDeletionSpec, rules("How Machines are deleted.")] = field(
        default_factory=MachineSetDeletionSpec
    )
    paused: Annotated[bool | None, rules("Stops rollouts of this MachineDeployment.")] = None


class MachineDeploymentV1Beta1DeprecatedStatus(Model):
    """What v1beta1 reported of a MachineDeployment."""

    conditions: V1Beta1Conditions = field(default_factory=list)
    updated_replicas: Annotated[
        int,
        rules(
            "How many Machines had the newest template; v1beta1 reported it.",
            format="int32",
            zero="written",
        ),
    ] = 0
    ready_replicas: Annotated[
        int,
        rules(
            "How many Machines were ready in the sense of v1beta1.", format="int32", zero="written"
        ),
    ] = 0
    available_replicas: Annotated[
        int,
        rules(
            "How many Machines were available in the sense of v1beta1.",
            format="int32",
            zero="written",
        ),
    ] = 0
    unavailable_replicas: Annotated[
        int,
        rules(
            "How many Machines were still missing in the sense of v1beta1.",
            format="int32",
            zero="written",
        ),
    ] = 0


class MachineDeploymentDeprecatedStatus(Model):
    """What older versions of the API reported of a MachineDeployment."""

    v1beta1: Annotated[
        MachineDeploymentV1Beta1DeprecatedStatus | None, rules("What v1beta1 reported.")
    ] = None


class MachineDeploymentStatus(Model):
    """What was seen of a MachineDeployment."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Conditions = field(default_factory=list)
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
        rules("Values that only readers of v1beta1 still look at."),
    ] = None


class MachineDeployment(Object, kw_only=True):
    """Keeps so many Machines, and replaces them step by step when their template changes."""

    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta2", "machinedeployments", "MachineDeployment"
    )

    spec: Annotated[MachineDeploymentSpec, rules("The MachineDeployment as it is wanted.")]
    status: Annotated[
        MachineDeploymentStatus, rules("The MachineDeployment as it was seen last.")
    ] = field(default_factory=MachineDeploymentStatus)
