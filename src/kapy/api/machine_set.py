"""MachineSet: so many Machines of one template."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import LabelSelector
from kapy.api.machine import MachineNamingSpec, MachineTemplateSpec
from kapy.api.status import (
    AvailableReplicas,
    Conditions,
    FailureMessage,
    FailureReason,
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

ClusterName = Annotated[
    str, rules("The Cluster that the Machines belong to.", min_length=1, max_length=63)
]
WantedReplicas = Annotated[
    int | None, rules("How many Machines there should be; 1 unless said.", format="int32")
]
MachineSelector = Annotated[
    LabelSelector, rules("Which Machines are counted; the template's labels must match it.")
]
DeletionOrder = Annotated[
    str,
    rules(
        "Which Machines go first when there are too many: Random, Newest or Oldest.",
        enum=["Random", "Newest", "Oldest"],
    ),
]


class MachineSetDeletionSpec(Model):
    """Which Machines are deleted."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    order: DeletionOrder = ""


class MachineSetSpec(Model, kw_only=True):
    """What a MachineSet should be."""

    cluster_name: ClusterName
    replicas: WantedReplicas = None
    selector: MachineSelector
    template: Annotated[MachineTemplateSpec, rules("What new Machines look like.")]
    machine_naming: Annotated[MachineNamingSpec, rules("How Machines are named.")] = field(
        default_factory=MachineNamingSpec
    )
    deletion: Annotated[MachineSetDeletionSpec, rules("How Machines are deleted.")] = field(
        default_factory=MachineSetDeletionSpec
    )


class MachineSetV1Beta1DeprecatedStatus(Model):
    """What v1beta1 reported of a MachineSet."""

    conditions: V1Beta1Conditions = field(default_factory=list)
    failure_reason: FailureReason = None
    failure_message: FailureMessage = None
    fully_labeled_replicas: Annotated[
        int,
        rules(
            "How many Machines have the labels of the template; v1beta1 reported it.",
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


class MachineSetDeprecatedStatus(Model):
    """What older versions of the API reported of a MachineSet."""

    v1beta1: Annotated[
        MachineSetV1Beta1DeprecatedStatus | None, rules("What v1beta1 reported.")
    ] = None


class MachineSetStatus(Model):
    """What was seen of a MachineSet."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Conditions = field(default_factory=list)
    selector: Selector = ""
    replicas: Replicas = None
    ready_replicas: ReadyReplicas = None
    available_replicas: AvailableReplicas = None
    up_to_date_replicas: UpToDateReplicas = None
    versions: Versions = field(default_factory=list)
    observed_generation: ObservedGeneration = 0
    deprecated: Annotated[
        MachineSetDeprecatedStatus | None,
        rules("Values that only readers of v1beta1 still look at."),
    ] = None


class MachineSet(Object, kw_only=True):
    """Keeps so many Machines of one template."""

    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta2", "machinesets", "MachineSet"
    )

    spec: Annotated[MachineSetSpec, rules("The MachineSet as it is wanted.")]
    status: Annotated[MachineSetStatus, rules("The MachineSet as it was seen last.")] = field(
        default_factory=MachineSetStatus
    )
