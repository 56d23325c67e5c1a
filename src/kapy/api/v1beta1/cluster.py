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
    ZEROS: ClassVar[bool] = True


class APIEndpoint(OldModel):
    host: Annotated[str, rules(max_length=512, zero="written")] = ""
    port: Annotated[int, rules(format="int32", zero="written")] = 0


class NetworkRanges(OldModel):
    cidr_blocks: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=43)]],
        rules(max_items=100),
    ]


class ClusterNetwork(OldModel):
    api_server_port: Annotated[
        int | None,
        rules(format="int32"),
    ] = None
    services: NetworkRanges | None = None
    pods: NetworkRanges | None = None
    service_domain: Annotated[str, rules(min_length=1, max_length=253)] = ""


class ClusterSpec(OldModel):
    paused: bool = False
    cluster_network: ClusterNetwork | None = None
    control_plane_endpoint: APIEndpoint = field(default_factory=APIEndpoint)
    control_plane_ref: ObjectReference | None = None
    infrastructure_ref: ObjectReference | None = None
    topology: Topology | None = None
    availability_gates: Annotated[
        list[ClusterAvailabilityGate],
        rules(
            max_items=32,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["conditionType"],
        ),
    ] = field(default_factory=list)


class ClusterV1Beta2Status(ConditionsStatus):
    """ClusterV1Beta2Status groups the status fields of a Cluster that v1beta2 reports."""

    control_plane: Annotated[
        ClusterControlPlaneStatus | None, rules(same_as="ClusterStatus.controlPlane")
    ] = None
    workers: Annotated[WorkersStatus | None, rules(same_as="ClusterStatus.workers")] = None


class ClusterStatus(OldModel):
    failure_domains: dict[str, FailureDomain] = field(default_factory=dict)
    failure_reason: Annotated[
        str | None, rules(same_as="MachineSetV1Beta1DeprecatedStatus.failureReason")
    ] = None
    failure_message: Annotated[
        str | None,
        rules(
            same_as="MachineSetV1Beta1DeprecatedStatus.failureMessage",
            min_length=1,
            max_length=10240,
        ),
    ] = None
    phase: Annotated[
        str,
        rules(
            enum=["Pending", "Provisioning", "Provisioned", "Deleting", "Failed", "Unknown"],
        ),
    ] = ""
    infrastructure_ready: Annotated[
        bool, rules(same_as="ClusterInitializationStatus.infrastructureProvisioned", zero="written")
    ] = False
    control_plane_ready: Annotated[
        bool, rules(same_as="ClusterInitializationStatus.controlPlaneInitialized", zero="written")
    ] = False
    conditions: OldConditions = field(default_factory=list)
    observed_generation: Annotated[
        int,
        rules(format="int64"),
    ] = 0
    v1beta2: Annotated[
        ClusterV1Beta2Status | None,
        rules(
            "v1beta2 groups the status fields that v1beta2 reports. They prepare clients for "
            "v1beta2."
        ),
    ] = None


class Cluster(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("cluster.x-k8s.io", "v1beta1", "clusters", "Cluster")

    spec: ClusterSpec = field(default_factory=ClusterSpec)
    status: ClusterStatus = field(default_factory=ClusterStatus)
