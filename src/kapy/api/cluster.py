"""Cluster: what belongs together, and where its control plane is reached."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.cluster_topology import Topology
from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.embedded import (
    APIEndpoint,
    ContractVersionedObjectReference,
    FailureDomain,
    StatusVersion,
)
from kapy.api.patterns import QUALIFIED_NAME
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class ClusterAvailabilityGate(Model):
    condition_type: Annotated[str, rules(min_length=1, max_length=316, pattern=QUALIFIED_NAME)]
    polarity: Annotated[str, rules(enum=["Positive", "Negative"])] = ""


class NetworkRanges(Model):
    cidr_blocks: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=43)]],
        rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic"),
    ]


class ClusterNetwork(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    api_server_port: Annotated[int, rules(format="int32", minimum=1, maximum=65535)] = 0
    services: NetworkRanges | None = None
    pods: NetworkRanges | None = None
    service_domain: Annotated[str, rules(min_length=1, max_length=253)] = ""


class ClusterSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    paused: bool | None = None
    cluster_network: ClusterNetwork = field(default_factory=ClusterNetwork)
    control_plane_endpoint: APIEndpoint = field(default_factory=APIEndpoint)
    control_plane_ref: ContractVersionedObjectReference | None = None
    infrastructure_ref: ContractVersionedObjectReference | None = None
    topology: Topology | None = None
    availability_gates: Annotated[
        list[ClusterAvailabilityGate],
        rules(
            min_items=1,
            max_items=32,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["conditionType"],
        ),
    ] = field(default_factory=list)


class StatusUpgradePlanVersion(Model):
    version: Annotated[str, rules(min_length=1, max_length=256)]


class ClusterControlPlaneStatus(Model):
    desired_replicas: Annotated[int | None, rules(format="int32")] = None
    replicas: Annotated[int | None, rules(format="int32")] = None
    up_to_date_replicas: Annotated[int | None, rules(format="int32")] = None
    ready_replicas: Annotated[int | None, rules(format="int32")] = None
    available_replicas: Annotated[int | None, rules(format="int32")] = None
    versions: Annotated[
        list[StatusVersion], rules(min_items=1, max_items=32, x_kubernetes_list_type="atomic")
    ] = field(default_factory=list)
    upgrade_plan: Annotated[
        list[StatusUpgradePlanVersion],
        rules(min_items=1, max_items=32, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)


class ClusterV1Beta1DeprecatedStatus(Model):
    conditions: list[V1Beta1Condition] = field(default_factory=list)
    failure_reason: str | None = None
    failure_message: Annotated[str | None, rules(min_length=1, max_length=10240)] = None


class ClusterDeprecatedStatus(Model):
    v1beta1: ClusterV1Beta1DeprecatedStatus | None = None


class ClusterInitializationStatus(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    infrastructure_provisioned: bool | None = None
    control_plane_initialized: bool | None = None


class WorkersStatus(Model):
    desired_replicas: Annotated[int | None, rules(format="int32")] = None
    replicas: Annotated[int | None, rules(format="int32")] = None
    up_to_date_replicas: Annotated[int | None, rules(format="int32")] = None
    ready_replicas: Annotated[int | None, rules(format="int32")] = None
    available_replicas: Annotated[int | None, rules(format="int32")] = None
    versions: Annotated[
        list[StatusVersion], rules(min_items=1, max_items=32, x_kubernetes_list_type="atomic")
    ] = field(default_factory=list)
    upgrade_plan: Annotated[
        list[StatusUpgradePlanVersion],
        rules(min_items=1, max_items=32, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)


class ClusterStatus(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Annotated[
        list[Condition],
        rules(max_items=32, x_kubernetes_list_type="map", x_kubernetes_list_map_keys=["type"]),
    ] = field(default_factory=list)
    initialization: ClusterInitializationStatus = field(default_factory=ClusterInitializationStatus)
    control_plane: ClusterControlPlaneStatus | None = None
    workers: WorkersStatus | None = None
    failure_domains: Annotated[
        list[FailureDomain],
        rules(
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
    phase: Annotated[
        str, rules(enum=["Pending", "Provisioning", "Provisioned", "Deleting", "Failed", "Unknown"])
    ] = ""
    observed_generation: Annotated[int, rules(format="int64", minimum=1)] = 0
    deprecated: ClusterDeprecatedStatus | None = None


class Cluster(Object, kw_only=True):
    """Cluster"""

    RESOURCE: ClassVar[Resource] = Resource("cluster.x-k8s.io", "v1beta2", "clusters", "Cluster")

    spec: ClusterSpec
    status: ClusterStatus = field(default_factory=ClusterStatus)
