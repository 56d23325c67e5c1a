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
    str,
    rules(
        "clusterName is the name of the Cluster to which the object and its Machines "
        "belong. The Cluster must be in the same namespace. This field is immutable.",
        min_length=1,
        max_length=63,
    ),
]
WantedReplicas = Annotated[
    int | None,
    rules(
        "replicas is the number of desired Machines. Defaults to 1. If the annotations "
        "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size and -max-size are "
        "both set, then a new object defaults to the minimum size. An existing object "
        "keeps its number within both sizes. A change creates or deletes Machines. It is "
        "no rollout.",
        format="int32",
    ),
]
MachineSelector = Annotated[
    LabelSelector,
    rules(
        "selector selects the Machines that count as replicas. It must match the labels "
        "of the template and must not be empty. An empty selector defaults to a label "
        "with the name of the object. A MachineDeployment adds a label with the name of "
        "the Cluster. Machines that match and have no controller are adopted."
    ),
]
DeletionOrder = Annotated[
    str,
    rules(
        "order selects which Machines are deleted first when the number of replicas is "
        "reduced. Allowed values are Random, Newest and Oldest. Defaults to Random. "
        "Machines with the annotation cluster.x-k8s.io/delete-machine and unhealthy "
        "Machines are always deleted before others. A change is applied in place.",
        enum=["Random", "Newest", "Oldest"],
    ),
]


class MachineSetDeletionSpec(Model):
    """MachineSetDeletionSpec configures the selection of Machines for deletion."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    order: DeletionOrder = ""


class MachineSetSpec(Model, kw_only=True):
    """MachineSetSpec is the desired state of a MachineSet."""

    cluster_name: ClusterName
    replicas: WantedReplicas = None
    selector: MachineSelector
    template: Annotated[
        MachineTemplateSpec,
        rules(
            "template describes the Machines that the MachineSet creates. Labels to which "
            "selector defaults are added to it. Changes of labels, annotations, "
            "minReadySeconds, readinessGates, deletion and taints are applied to existing "
            "Machines in place. Other changes take effect on new Machines only."
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
    deletion: Annotated[
        MachineSetDeletionSpec,
        rules(
            "deletion configures the selection of Machines for deletion. A change is applied "
            "in place."
        ),
    ] = field(default_factory=MachineSetDeletionSpec)


class MachineSetV1Beta1DeprecatedStatus(Model):
    """MachineSetV1Beta1DeprecatedStatus groups the status fields of a MachineSet in v1beta1 that
    v1beta2 does not have.
    """

    conditions: V1Beta1Conditions = field(default_factory=list)
    failure_reason: FailureReason = None
    failure_message: FailureMessage = None
    fully_labeled_replicas: Annotated[
        int,
        rules(
            "fullyLabeledReplicas is the number of Machines that have all labels of the "
            "template. This field is deprecated and goes away together with v1beta1.",
            format="int32",
            zero="written",
        ),
    ] = 0
    ready_replicas: Annotated[
        int,
        rules(
            "readyReplicas is the number of Machines with a Node whose Ready condition is "
            "True. This field is deprecated and goes away together with v1beta1.",
            format="int32",
            zero="written",
        ),
    ] = 0
    available_replicas: Annotated[
        int,
        rules(
            "availableReplicas is the number of Machines whose Node has been Ready for at "
            "least minReadySeconds. This field is deprecated and goes away together with "
            "v1beta1.",
            format="int32",
            zero="written",
        ),
    ] = 0


class MachineSetDeprecatedStatus(Model):
    """MachineSetDeprecatedStatus groups the status fields of a MachineSet in older API versions."""

    v1beta1: Annotated[
        MachineSetV1Beta1DeprecatedStatus | None, rules(same_as="DeprecatedConditions.v1beta1")
    ] = None


class MachineSetStatus(Model):
    """MachineSetStatus is the observed state of a MachineSet."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Annotated[
        Conditions,
        rules(
            "conditions are the observations of the MachineSet's current state. Types are "
            "MachinesReady, MachinesUpToDate, ScalingUp, ScalingDown, Remediating, Deleting "
            "and Paused. The reason of a condition without a problem is for example Ready, "
            "UpToDate, NotScalingUp or NotDeleting."
        ),
    ] = field(default_factory=list)
    selector: Selector = ""
    replicas: Replicas = None
    ready_replicas: ReadyReplicas = None
    available_replicas: AvailableReplicas = None
    up_to_date_replicas: UpToDateReplicas = None
    versions: Versions = field(default_factory=list)
    observed_generation: ObservedGeneration = 0
    deprecated: Annotated[
        MachineSetDeprecatedStatus | None,
        rules(same_as="MachineHealthCheckStatus.deprecated"),
    ] = None


class MachineSet(Object, kw_only=True):
    """MachineSet keeps a number of Machines of one template running. A MachineDeployment usually
    owns it.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta2", "machinesets", "MachineSet"
    )

    spec: Annotated[
        MachineSetSpec,
        rules(
            "spec is the desired state of the MachineSet. A MachineDeployment that owns the "
            "MachineSet overwrites it."
        ),
    ]
    status: Annotated[
        MachineSetStatus,
        rules(
            "status is the observed state of the MachineSet. The MachineSet controller writes it."
        ),
    ] = field(default_factory=MachineSetStatus)
