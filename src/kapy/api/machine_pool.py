"""MachinePool: machines that the infrastructure's provider makes and counts as a group."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.core_v1 import ObjectReference
from kapy.api.machine import MachineInitializationStatus, MachineTemplateSpec
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
        "In one word, where the pool is in its life.",
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
    """What a MachinePool should be."""

    cluster_name: Annotated[
        str, rules("The Cluster that the machines belong to.", min_length=1, max_length=63)
    ]
    replicas: Annotated[
        int | None, rules("How many machines there should be; 1 unless said.", format="int32")
    ] = None
    template: Annotated[MachineTemplateSpec, rules("What the machines look like.")]
    provider_id_list: Annotated[
        list[ProviderID],
        rules(
            "What the infrastructure calls the machines; the provider writes it.",
            max_items=10000,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list, name="providerIDList")
    failure_domains: Annotated[
        list[FailureDomainName],
        rules(
            "The failure domains to put the machines in.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class MachinePoolV1Beta1DeprecatedStatus(Model):
    """What v1beta1 reported of a MachinePool."""

    conditions: V1Beta1Conditions = field(default_factory=list)
    failure_reason: FailureReason = None
    failure_message: FailureMessage = None
    ready_replicas: Annotated[
        int, rules("How many machines were ready in the sense of v1beta1.", format="int32")
    ] = 0
    available_replicas: Annotated[
        int, rules("How many machines were available in the sense of v1beta1.", format="int32")
    ] = 0
    unavailable_replicas: Annotated[
        int, rules("How many machines were still missing in the sense of v1beta1.", format="int32")
    ] = 0


class MachinePoolDeprecatedStatus(Model):
    """What older versions of the API reported of a MachinePool."""

    v1beta1: Annotated[
        MachinePoolV1Beta1DeprecatedStatus | None, rules("What v1beta1 reported.")
    ] = None


class MachinePoolStatus(Model):
    """What was seen of a MachinePool."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Conditions = field(default_factory=list)
    initialization: Annotated[
        MachineInitializationStatus,
        rules("Milestones of the first provisioning; they are not taken back."),
    ] = field(default_factory=MachineInitializationStatus)
    node_refs: Annotated[
        list[ObjectReference],
        rules(
            "The Nodes that the machines became.",
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
        rules("Values that only readers of v1beta1 still look at."),
    ] = None


class MachinePool(Object, kw_only=True):
    """A group of machines that the infrastructure's provider keeps at a number."""

    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta2", "machinepools", "MachinePool"
    )

    spec: Annotated[MachinePoolSpec, rules("The MachinePool as it is wanted.")]
    status: Annotated[MachinePoolStatus, rules("The MachinePool as it was seen last.")] = field(
        default_factory=MachinePoolStatus
    )
