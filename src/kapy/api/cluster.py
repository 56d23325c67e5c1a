"""Cluster: what belongs together, and where its control plane is reached."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.cluster_topology import Topology
from kapy.api.embedded import (
    APIEndpoint,
    ContractVersionedObjectReference,
    FailureDomain,
    StatusVersion,
)
from kapy.api.patterns import QUALIFIED_NAME
from kapy.api.status import (
    AvailableReplicas,
    Conditions,
    FailureMessage,
    FailureReason,
    ObservedGeneration,
    ReadyReplicas,
    UpToDateReplicas,
    V1Beta1Conditions,
)
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class ClusterAvailabilityGate(Model):
    """One more condition of the Cluster that Available takes into account."""

    condition_type: Annotated[
        str, rules("The condition's type.", min_length=1, max_length=316, pattern=QUALIFIED_NAME)
    ]
    polarity: Annotated[
        str,
        rules(
            "Which status is the good one: True (Positive, unless said) or False (Negative).",
            enum=["Positive", "Negative"],
        ),
    ] = ""


class NetworkRanges(Model):
    """Address ranges."""

    cidr_blocks: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=43)]],
        rules(
            "The ranges in CIDR notation, one for each IP family.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ]


class ClusterNetwork(Model):
    """Networks inside a cluster."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    api_server_port: Annotated[
        int,
        rules(
            "The port that API servers listen on; the provider chooses unless said.",
            format="int32",
            minimum=1,
            maximum=65535,
        ),
    ] = 0
    services: Annotated[NetworkRanges | None, rules("Address ranges for Services.")] = None
    pods: Annotated[NetworkRanges | None, rules("Address ranges for Pods.")] = None
    service_domain: Annotated[
        str, rules("The DNS domain of Services.", min_length=1, max_length=253)
    ] = ""


class ClusterSpec(Model):
    """What a cluster should be."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    paused: Annotated[
        bool | None,
        rules("Stops all controllers from changing the cluster and what belongs to it."),
    ] = None
    cluster_network: Annotated[ClusterNetwork, rules("Networks inside the cluster.")] = field(
        default_factory=ClusterNetwork
    )
    control_plane_endpoint: Annotated[
        APIEndpoint, rules("Where the cluster's API server is reached.")
    ] = field(default_factory=APIEndpoint)
    control_plane_ref: Annotated[
        ContractVersionedObjectReference | None,
        rules("The provider's object that makes the control plane.", zero="omitted"),
    ] = None
    infrastructure_ref: Annotated[
        ContractVersionedObjectReference | None,
        rules("The provider's object that makes the cluster's infrastructure.", zero="omitted"),
    ] = None
    topology: Annotated[
        Topology | None,
        rules("A whole cluster said in a few words, to be made of a ClusterClass.", zero="omitted"),
    ] = None
    availability_gates: Annotated[
        list[ClusterAvailabilityGate],
        rules(
            "Conditions that must hold too before the cluster counts as Available.",
            min_items=1,
            max_items=32,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["conditionType"],
        ),
    ] = field(default_factory=list)


class StatusUpgradePlanVersion(Model):
    """One step of an upgrade."""

    version: Annotated[
        str, rules("The version that the step leads to.", min_length=1, max_length=256)
    ]


_Versions = Annotated[
    list[StatusVersion],
    rules(
        "How many machines run which version of Kubernetes.",
        min_items=1,
        max_items=32,
        x_kubernetes_list_type="atomic",
    ),
]


class ClusterControlPlaneStatus(Model):
    """The control plane's Machines, counted."""

    desired_replicas: Annotated[
        int | None, rules("How many control plane Machines there should be.", format="int32")
    ] = None
    replicas: Annotated[
        int | None, rules("How many control plane Machines there are.", format="int32")
    ] = None
    up_to_date_replicas: UpToDateReplicas = None
    ready_replicas: ReadyReplicas = None
    available_replicas: AvailableReplicas = None
    versions: _Versions = field(default_factory=list)
    upgrade_plan: Annotated[
        list[StatusUpgradePlanVersion],
        rules(
            "The versions that the control plane goes through until it has the wanted one.",
            min_items=1,
            max_items=32,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class ClusterV1Beta1DeprecatedStatus(Model):
    """What v1beta1 reported of a Cluster."""

    conditions: V1Beta1Conditions = field(default_factory=list)
    failure_reason: FailureReason = None
    failure_message: FailureMessage = None


class ClusterDeprecatedStatus(Model):
    """What older versions of the API reported of a Cluster."""

    v1beta1: Annotated[ClusterV1Beta1DeprecatedStatus | None, rules("What v1beta1 reported.")] = (
        None
    )


class ClusterInitializationStatus(Model):
    """Milestones of a cluster's first provisioning."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    infrastructure_provisioned: Annotated[
        bool | None, rules("Whether the cluster's infrastructure has been there once.")
    ] = None
    control_plane_initialized: Annotated[
        bool | None, rules("Whether the API server has answered once.")
    ] = None


class WorkersStatus(Model):
    """The worker machines, counted."""

    desired_replicas: Annotated[
        int | None, rules("How many worker machines there should be.", format="int32")
    ] = None
    replicas: Annotated[
        int | None, rules("How many worker machines there are.", format="int32")
    ] = None
    up_to_date_replicas: UpToDateReplicas = None
    ready_replicas: ReadyReplicas = None
    available_replicas: AvailableReplicas = None
    versions: _Versions = field(default_factory=list)
    upgrade_plan: Annotated[
        list[StatusUpgradePlanVersion],
        rules(
            "The versions that the workers go through until they have the wanted one.",
            min_items=1,
            max_items=32,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class ClusterStatus(Model):
    """What was seen of a cluster."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Conditions = field(default_factory=list)
    initialization: Annotated[
        ClusterInitializationStatus,
        rules("Milestones of the first provisioning; they are not taken back."),
    ] = field(default_factory=ClusterInitializationStatus)
    control_plane: Annotated[
        ClusterControlPlaneStatus | None, rules("The control plane's Machines, counted.")
    ] = None
    workers: Annotated[WorkersStatus | None, rules("The worker machines, counted.")] = None
    failure_domains: Annotated[
        list[FailureDomain],
        rules(
            "Where the infrastructure can put machines so that they do not fail together.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
    phase: Annotated[
        str,
        rules(
            "In one word, where the cluster is in its life.",
            enum=["Pending", "Provisioning", "Provisioned", "Deleting", "Failed", "Unknown"],
        ),
    ] = ""
    observed_generation: ObservedGeneration = 0
    deprecated: Annotated[
        ClusterDeprecatedStatus | None, rules("Values that only readers of v1beta1 still look at.")
    ] = None


class Cluster(Object, kw_only=True):
    """Everything that belongs to one workload cluster, and how it is reached."""

    RESOURCE: ClassVar[Resource] = Resource("cluster.x-k8s.io", "v1beta2", "clusters", "Cluster")

    spec: Annotated[ClusterSpec, rules("The cluster as it is wanted.")]
    status: Annotated[ClusterStatus, rules("The cluster as it was seen last.")] = field(
        default_factory=ClusterStatus
    )
