"""Cluster as v1beta1 served it."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api import cluster
from kapy.api.cluster import ClusterControlPlaneStatus, WorkersStatus
from kapy.api.core_v1 import ObjectReference
from kapy.api.v1beta1.cluster_topology import Topology
from kapy.api.v1beta1.embedded import ConditionsStatus, FailureDomain, OldConditions
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource


class ClusterAvailabilityGate(cluster.ClusterAvailabilityGate):
    """One more condition of the Cluster that Available takes into account."""

    ZEROS: ClassVar[bool] = True


class APIEndpoint(OldModel):
    """Where an API server is reached."""

    host: Annotated[str, rules("Its host name or address.", max_length=512, zero="written")] = ""
    port: Annotated[int, rules("Its port.", format="int32", zero="written")] = 0


class NetworkRanges(OldModel):
    """Address ranges."""

    cidr_blocks: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=43)]],
        rules("The ranges in CIDR notation, one for each IP family.", max_items=100),
    ]


class ClusterNetwork(OldModel):
    """Networks inside a cluster."""

    api_server_port: Annotated[
        int | None,
        rules(
            "The port that API servers listen on; the provider chooses unless said.", format="int32"
        ),
    ] = None
    services: Annotated[NetworkRanges | None, rules("Address ranges for Services.")] = None
    pods: Annotated[NetworkRanges | None, rules("Address ranges for Pods.")] = None
    service_domain: Annotated[
        str, rules("The DNS domain of Services.", min_length=1, max_length=253)
    ] = ""


class ClusterSpec(OldModel):
    """What a cluster should be."""

    paused: Annotated[
        bool, rules("Stops all controllers from changing the cluster and what belongs to it.")
    ] = False
    cluster_network: Annotated[ClusterNetwork | None, rules("Networks inside the cluster.")] = None
    control_plane_endpoint: Annotated[
        APIEndpoint, rules("Where the cluster's API server is reached.")
    ] = field(default_factory=APIEndpoint)
    control_plane_ref: Annotated[
        ObjectReference | None, rules("The provider's object that makes the control plane.")
    ] = None
    infrastructure_ref: Annotated[
        ObjectReference | None,
        rules("The provider's object that makes the cluster's infrastructure."),
    ] = None
    topology: Annotated[
        Topology | None, rules("A whole cluster said in a few words, to be made of a ClusterClass.")
    ] = None
    availability_gates: Annotated[
        list[ClusterAvailabilityGate],
        rules(
            "Conditions that must hold too before the cluster counts as Available.",
            max_items=32,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["conditionType"],
        ),
    ] = field(default_factory=list)


class ClusterV1Beta2Status(ConditionsStatus):
    """What the version after this one reports of a Cluster."""

    control_plane: Annotated[
        ClusterControlPlaneStatus | None, rules("The control plane's Machines, counted.")
    ] = None
    workers: Annotated[WorkersStatus | None, rules("The worker machines, counted.")] = None


class ClusterStatus(OldModel):
    """What was seen of a cluster."""

    failure_domains: Annotated[
        dict[str, FailureDomain],
        rules("Where the infrastructure can put machines so that they do not fail together."),
    ] = field(default_factory=dict)
    failure_reason: Annotated[
        str | None, rules("In one word, why the cluster failed for good.")
    ] = None
    failure_message: Annotated[
        str | None,
        rules("In a sentence, why the cluster failed for good.", min_length=1, max_length=10240),
    ] = None
    phase: Annotated[
        str,
        rules(
            "In one word, where the cluster is in its life.",
            enum=["Pending", "Provisioning", "Provisioned", "Deleting", "Failed", "Unknown"],
        ),
    ] = ""
    infrastructure_ready: Annotated[
        bool, rules("Whether the infrastructure is there.", zero="written")
    ] = False
    control_plane_ready: Annotated[
        bool, rules("Whether the API server has answered once.", zero="written")
    ] = False
    conditions: OldConditions = field(default_factory=list)
    observed_generation: Annotated[
        int,
        rules("The generation of the object that the status was computed from.", format="int64"),
    ] = 0
    v1beta2: Annotated[
        ClusterV1Beta2Status | None, rules("What the version after this one reports.")
    ] = None


class Cluster(OldObject, kw_only=True):
    """Everything that belongs to one workload cluster, and how it is reached."""

    RESOURCE: ClassVar[Resource] = Resource("cluster.x-k8s.io", "v1beta1", "clusters", "Cluster")

    spec: Annotated[ClusterSpec, rules("The cluster as it is wanted.")] = field(
        default_factory=ClusterSpec
    )
    status: Annotated[ClusterStatus, rules("The cluster as it was seen last.")] = field(
        default_factory=ClusterStatus
    )
