"""Cluster in v1beta1."""

from typing import Annotated, Any, Final

from kapy.api import cluster, cluster_topology, cluster_topology_workers
from kapy.api.cluster import ClusterControlPlaneStatus, WorkersStatus
from kapy.api.cluster_topology import ControlPlaneTopologyRolloutSpec
from kapy.api.older.difference import Difference, OldModel, Place
from kapy.api.older.documents import put
from kapy.api.older.references import reference
from kapy.api.older.rows import (
    add,
    add_required,
    custom,
    drop,
    loosen,
    pointers,
    retype,
    values,
)
from kapy.api.older.status import conditions, milestones
from kapy.api.patterns import DNS_LABEL
from kapy.api.v1beta1.embedded import (
    FAILURE_DOMAINS,
    GROUPED,
    ConditionsStatus,
    FailureMessage,
    FailureReason,
    milestone,
)
from kapy.api.v1beta1.health_check import MachineHealthCheckClass, health_check
from kapy.api.v1beta1.machines import deletion_timeouts
from kapy.api.v1beta1.rollout import strategy
from kapy.kube import Document
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


_HEALTH_CHECK: Final = health_check(
    MachineHealthCheckTopology,
    "machineHealthCheck configures the MachineHealthCheck of the Machines. It takes "
    "precedence over the ClusterClass.",
)
_NAME: Final[dict[str, Any]] = {"name": Annotated[str, rules(min_length=1, max_length=63)]}


def _upgrade_network(network: Document, _: Document | None, __: Place) -> None:
    for name in ("services", "pods"):
        if (ranges := network.get(name)) is not None and ranges["cidrBlocks"] is None:
            del network[name]  # absent, unlike an empty list


def _upgrade_class(topology: Document, _: Document | None, __: Place) -> None:
    topology["classRef"] = {
        "name": topology.pop("class", ""),
        "namespace": topology.pop("classNamespace", ""),
    }


def _downgrade_class(topology: Document, _: Place) -> None:
    class_ref = topology.pop("classRef", {})
    put(topology, "class", class_ref.get("name"))
    put(topology, "classNamespace", class_ref.get("namespace"))


DIFFERENCES: Final = (
    Difference(cluster.ClusterAvailabilityGate),
    Difference(cluster.NetworkRanges, loosen("cidr_blocks")),
    Difference(
        cluster.ClusterNetwork,
        pointers("api_server_port", "services", "pods"),
        loosen("api_server_port"),
        custom(_upgrade_network, None),
    ),
    Difference(
        cluster.ClusterSpec,
        values("paused"),
        pointers("cluster_network"),
        retype(control_plane_endpoint=APIEndpoint),
        reference("infrastructure_ref"),
        reference("control_plane_ref"),
        loosen("availability_gates"),
    ),
    Difference(
        cluster.ClusterStatus,
        *FAILURE_DOMAINS,
        loosen("observed_generation"),
        conditions(
            Annotated[ClusterV1Beta2Status | None, GROUPED],
            deprecated={"failure_reason": FailureReason, "failure_message": FailureMessage},
            newer=("control_plane", "workers"),
        ),
        milestones(
            infrastructure_ready=(
                "infrastructureProvisioned",
                milestone("ClusterInitializationStatus.infrastructureProvisioned"),
            ),
            control_plane_ready=(
                "controlPlaneInitialized",
                milestone("ClusterInitializationStatus.controlPlaneInitialized"),
            ),
        ),
    ),
    Difference(
        cluster_topology.Topology,
        drop("class_ref"),
        add_required(
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
        add(
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
        custom(_upgrade_class, _downgrade_class),
        pointers("workers"),
        loosen("variables"),
    ),
    Difference(
        cluster_topology.ControlPlaneTopology,
        drop("health_check", "deletion"),
        pointers("variables"),
        loosen("readiness_gates"),
        *_HEALTH_CHECK,
        *deletion_timeouts(),
    ),
    Difference(cluster_topology_workers.VariableOverrides, loosen("overrides")),
    Difference(
        cluster_topology_workers.MachineDeploymentTopology,
        drop("health_check", "deletion"),
        retype(**_NAME, rollout=ControlPlaneTopologyRolloutSpec),
        pointers("failure_domain", "variables"),
        loosen("min_ready_seconds", "readiness_gates"),
        *strategy("MachineDeploymentRolloutSpec.strategy"),
        *_HEALTH_CHECK,
        *deletion_timeouts(),
    ),
    Difference(
        cluster_topology_workers.MachinePoolTopology,
        drop("deletion"),
        retype(**_NAME),
        pointers("variables"),
        loosen("failure_domains", "min_ready_seconds"),
        *deletion_timeouts(),
    ),
    Difference(
        cluster_topology_workers.WorkersTopology, loosen("machine_deployments", "machine_pools")
    ),
)
