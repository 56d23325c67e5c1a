"""Cluster in v1beta1."""

from typing import Annotated, Any, Final

from kapy.api import cluster, cluster_topology, cluster_topology_workers
from kapy.api.cluster import ClusterControlPlaneStatus, WorkersStatus
from kapy.api.cluster_topology import ControlPlaneTopologyRolloutSpec
from kapy.api.core_v1 import ObjectReference
from kapy.api.embedded import FailureDomain
from kapy.api.older.difference import (
    Difference,
    OldModel,
    added,
    looser,
    pointers,
    removed,
    required,
    retyped,
    values,
)
from kapy.api.patterns import DNS_LABEL
from kapy.api.v1beta1.embedded import (
    CONDITIONS,
    GROUPED,
    ConditionsStatus,
    FailureMessage,
    FailureReason,
    milestone,
)
from kapy.api.v1beta1.health_check import MachineHealthCheckClass
from kapy.api.v1beta1.machines import DELETION_TIMEOUTS
from kapy.api.v1beta1.rollout import MachineDeploymentStrategy
from kapy.kube.model import rules


class APIEndpoint(OldModel):
    host: Annotated[str, rules(max_length=512, zero="written")] = ""
    port: Annotated[int, rules(format="int32", zero="written")] = 0


class ClusterV1Beta2Status(ConditionsStatus):
    """ClusterV1Beta2Status groups the status fields of a Cluster that v1beta2 reports."""

    control_plane: Annotated[
        ClusterControlPlaneStatus | None, rules(same_as="ClusterStatus.controlPlane")
    ] = None
    workers: Annotated[WorkersStatus | None, rules(same_as="ClusterStatus.workers")] = None


class MachineHealthCheckTopology(MachineHealthCheckClass):
    """MachineHealthCheckTopology configures the MachineHealthCheck of some Machines of one
    Cluster.
    """

    enable: Annotated[
        bool | None,
        rules(same_as="ControlPlaneTopologyHealthCheck.enabled"),
    ] = None


_HEALTH_CHECK: Final[dict[str, Any]] = {
    "machine_health_check": Annotated[
        MachineHealthCheckTopology | None,
        rules(
            "machineHealthCheck configures the MachineHealthCheck of the Machines. It takes "
            "precedence over the ClusterClass."
        ),
    ]
}
_NAME: Final[dict[str, Any]] = {"name": Annotated[str, rules(min_length=1, max_length=63)]}
DIFFERENCES: Final = (
    Difference(cluster.ClusterAvailabilityGate),
    Difference(cluster.NetworkRanges, looser("cidr_blocks")),
    Difference(
        cluster.ClusterNetwork,
        pointers("api_server_port", "services", "pods"),
        looser("api_server_port"),
    ),
    Difference(
        cluster.ClusterSpec,
        values("paused"),
        pointers("cluster_network"),
        retyped(
            control_plane_endpoint=APIEndpoint,
            control_plane_ref=ObjectReference | None,
            infrastructure_ref=ObjectReference | None,
        ),
        looser("availability_gates"),
    ),
    Difference(
        cluster.ClusterStatus,
        removed("initialization", "control_plane", "workers", "deprecated"),
        retyped(**CONDITIONS, failure_domains=dict[str, FailureDomain]),
        looser("observed_generation"),
        added(
            failure_reason=FailureReason,
            failure_message=FailureMessage,
            infrastructure_ready=milestone("ClusterInitializationStatus.infrastructureProvisioned"),
            control_plane_ready=milestone("ClusterInitializationStatus.controlPlaneInitialized"),
            v1beta2=Annotated[ClusterV1Beta2Status | None, GROUPED],
        ),
    ),
    Difference(
        cluster_topology.Topology,
        removed("class_ref"),
        required(
            class_=Annotated[
                str,
                rules(
                    "class is the name of the ClusterClass of the cluster. A change moves the "
                    "Cluster to another class, which must be compatible.",
                    min_length=1,
                    max_length=253,
                ),
            ],
        ),
        added(
            class_namespace=Annotated[
                str,
                rules(
                    "classNamespace is the namespace of the ClusterClass. If it is not set, it "
                    "defaults to the namespace of the Cluster.",
                    min_length=1,
                    max_length=63,
                    pattern=DNS_LABEL,
                ),
            ],
            rollout_after=Annotated[
                str | None,
                rules(
                    "rolloutAfter was a time for a rollout of the whole cluster. It is deprecated "
                    "and ignored. Set rolloutAfter of the control plane and of each "
                    "MachineDeployment instead.",
                    format="date-time",
                ),
            ],
        ),
        pointers("workers"),
        looser("variables"),
    ),
    Difference(
        cluster_topology.ControlPlaneTopology,
        removed("health_check", "deletion"),
        pointers("variables"),
        looser("readiness_gates"),
        added(**_HEALTH_CHECK, **DELETION_TIMEOUTS),
    ),
    Difference(cluster_topology_workers.VariableOverrides, looser("overrides")),
    Difference(
        cluster_topology_workers.MachineDeploymentTopology,
        removed("health_check", "deletion"),
        retyped(**_NAME, rollout=ControlPlaneTopologyRolloutSpec),
        pointers("failure_domain", "variables"),
        looser("min_ready_seconds", "readiness_gates"),
        added(
            **_HEALTH_CHECK,
            **DELETION_TIMEOUTS,
            strategy=Annotated[
                MachineDeploymentStrategy | None,
                rules(same_as="MachineDeploymentRolloutSpec.strategy"),
            ],
        ),
    ),
    Difference(
        cluster_topology_workers.MachinePoolTopology,
        removed("deletion"),
        retyped(**_NAME),
        pointers("variables"),
        looser("failure_domains", "min_ready_seconds"),
        added(**DELETION_TIMEOUTS),
    ),
    Difference(
        cluster_topology_workers.WorkersTopology, looser("machine_deployments", "machine_pools")
    ),
)
