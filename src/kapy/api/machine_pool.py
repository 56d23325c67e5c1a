"""MachinePool: a group of machines that an infrastructure provider creates and scales."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.core_v1 import ObjectReference
from kapy.api.machine import MachineTemplateSpec
from kapy.api.machine_status import MachineInitializationStatus
from kapy.api.status import (
    AvailableReplicas,
    Conditions,
    FailureMessage,
    FailureReason,
    ObservedGeneration,
    ReadyReplicas,
    Replicas,
    UpToDateReplicas,
    V1Beta1Conditions,
    Versions,
)
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource

ProviderID = Annotated[str, rules(min_length=1, max_length=512)]
FailureDomainName = Annotated[str, rules(min_length=1, max_length=256)]
Phase = Annotated[
    str,
    rules(
        "phase summarizes the life cycle of the MachinePool in one word. Values are "
        "Pending, Provisioning, Provisioned, Running, ScalingUp, ScalingDown, Scaling, "
        "Deleting, Failed and Unknown. Scaling means that an external autoscaler sets "
        "the number. Programs should read the conditions instead.",
        enum=[
            "Pending",
            "Provisioning",
            "Provisioned",
            "Running",
            "ScalingUp",
            "ScalingDown",
            "Scaling",
            "Deleting",
            "Failed",
            "Unknown",
        ],
    ),
]


class MachinePoolSpec(Model, kw_only=True):
    """MachinePoolSpec is the desired state of a MachinePool."""

    cluster_name: Annotated[
        str, rules(same_as="MachineSetSpec.clusterName", min_length=1, max_length=63)
    ]
    replicas: Annotated[
        int | None,
        rules(
            "replicas is the number of desired machines in the pool. Defaults to 1. If the "
            "annotations cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size and "
            "-max-size are both set, then a new object defaults to the minimum size. An "
            "existing object keeps its number within both sizes. If the annotation "
            "cluster.x-k8s.io/replicas-managed-by is set, the provider writes the number "
            "here.",
            format="int32",
        ),
    ] = None
    template: Annotated[
        MachineTemplateSpec,
        rules(
            "template describes the machines of the pool. The infrastructure provider "
            "decides whether a change replaces machines by a rollout or updates them in "
            "place."
        ),
    ]
    provider_id_list: Annotated[
        list[ProviderID],
        rules(
            "providerIDList are the identifiers that the infrastructure provider gives to "
            "the machines of the pool. The MachinePool controller copies them from the "
            "provider's object. At most 10000 are stored.",
            max_items=10000,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list, name="providerIDList")
    failure_domains: Annotated[
        list[FailureDomainName],
        rules(
            "failureDomains are the names of the failure domains in which the machines of "
            "the pool are created. They must be among status.failureDomains of the Cluster. "
            "At most 100 are allowed. The provider decides whether a change moves existing "
            "machines.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class MachinePoolV1Beta1DeprecatedStatus(Model):
    """MachinePoolV1Beta1DeprecatedStatus groups the status fields of a MachinePool in v1beta1 that
    v1beta2 does not have.
    """

    conditions: V1Beta1Conditions = field(default_factory=list)
    failure_reason: FailureReason = None
    failure_message: FailureMessage = None
    ready_replicas: Annotated[
        int,
        rules(
            "readyReplicas is the number of machines with a Node whose Ready condition is "
            "True. This field is deprecated and goes away together with v1beta1.",
            format="int32",
        ),
    ] = 0
    available_replicas: Annotated[
        int,
        rules(
            "availableReplicas is the number of machines whose Node has been Ready for at "
            "least minReadySeconds. This field is deprecated and goes away together with "
            "v1beta1.",
            format="int32",
        ),
    ] = 0
    unavailable_replicas: Annotated[
        int,
        rules(
            same_as="MachineDeploymentV1Beta1DeprecatedStatus.unavailableReplicas", format="int32"
        ),
    ] = 0


class MachinePoolDeprecatedStatus(Model):
    """MachinePoolDeprecatedStatus groups the status fields of a MachinePool in older API
    versions.
    """

    v1beta1: Annotated[
        MachinePoolV1Beta1DeprecatedStatus | None, rules(same_as="DeprecatedConditions.v1beta1")
    ] = None


class MachinePoolStatus(Model):
    """MachinePoolStatus is the observed state of a MachinePool."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Annotated[
        Conditions,
        rules(
            "conditions are the observations of the MachinePool's current state. Types are "
            "Available, BootstrapConfigReady, InfrastructureReady, MachinesReady, "
            "MachinesUpToDate, ScalingUp, ScalingDown, Remediating, Deleting and Paused. The "
            "reason of InfrastructureReady is that of the Ready condition of the provider's "
            "object."
        ),
    ] = field(default_factory=list)
    initialization: Annotated[
        MachineInitializationStatus,
        rules(
            "initialization records the milestones of the MachinePool's first provisioning. "
            "Controllers use them to order the provisioning of a Cluster."
        ),
    ] = field(default_factory=MachineInitializationStatus)
    node_refs: Annotated[
        list[ObjectReference],
        rules(
            "nodeRefs are references to the Nodes of the pool's machines. At most 10000 are "
            "stored.",
            max_items=10000,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    replicas: Replicas = None
    ready_replicas: ReadyReplicas = None
    available_replicas: AvailableReplicas = None
    up_to_date_replicas: UpToDateReplicas = None
    versions: Versions = field(default_factory=list)
    phase: Phase = ""
    observed_generation: ObservedGeneration = 0
    deprecated: Annotated[
        MachinePoolDeprecatedStatus | None,
        rules(same_as="MachineHealthCheckStatus.deprecated"),
    ] = None


class MachinePool(Object, kw_only=True):
    """MachinePool represents a group of machines that the infrastructure provider creates and
    scales as a whole, for example an autoscaling group.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta2", "machinepools", "MachinePool"
    )

    spec: Annotated[MachinePoolSpec, rules("spec is the desired state of the MachinePool.")]
    status: Annotated[
        MachinePoolStatus,
        rules(
            "status is the observed state of the MachinePool. The MachinePool controller writes it."
        ),
    ] = field(default_factory=MachinePoolStatus)
