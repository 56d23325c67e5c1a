"""A Cluster's managed topology: what is to be made of a ClusterClass."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.cluster_topology_workers import VariableOverrides, WorkersTopology
from kapy.api.embedded import ClusterVariable, ReadinessGates, Taints, TemplateMeta
from kapy.api.health_check import ControlPlaneTopologyHealthCheck
from kapy.api.machine import MachineDeletionSpec
from kapy.api.patterns import DNS_LABEL, DNS_SUBDOMAIN
from kapy.kube import Document
from kapy.kube.model import Model, rules


class ClusterClassRef(Model):
    """Names a ClusterClass."""

    name: Annotated[
        str, rules("The ClusterClass's name.", min_length=1, max_length=253, pattern=DNS_SUBDOMAIN)
    ]
    namespace: Annotated[
        str,
        rules(
            "The ClusterClass's namespace; the Cluster's own unless said.",
            min_length=1,
            max_length=63,
            pattern=DNS_LABEL,
        ),
    ] = ""


class ControlPlaneTopologyRolloutSpec(Model):
    """When control plane Machines are replaced."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    after: Annotated[
        str | None,
        rules(
            "Machines that are older than this moment are replaced once it has passed.",
            format="date-time",
        ),
    ] = None


class ControlPlaneTopology(Model):
    """What is special about the control plane of one cluster."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    metadata: Annotated[
        TemplateMeta, rules("Labels and annotations for the control plane and its Machines.")
    ] = field(default_factory=TemplateMeta)
    replicas: Annotated[
        int | None, rules("How many control plane Machines there should be.", format="int32")
    ] = None
    rollout: Annotated[
        ControlPlaneTopologyRolloutSpec, rules("When the control plane's Machines are replaced.")
    ] = field(default_factory=ControlPlaneTopologyRolloutSpec)
    health_check: Annotated[
        ControlPlaneTopologyHealthCheck,
        rules("How unhealthy control plane Machines are found and replaced."),
    ] = field(default_factory=ControlPlaneTopologyHealthCheck)
    deletion: Annotated[MachineDeletionSpec, rules("How Machines are deleted.")] = field(
        default_factory=MachineDeletionSpec
    )
    taints: Taints = field(default_factory=list)
    readiness_gates: ReadinessGates = field(default_factory=list)
    variables: Annotated[
        VariableOverrides, rules("Values of variables that count for the control plane only.")
    ] = field(default_factory=VariableOverrides)


class Topology(Model):
    """A cluster described by a ClusterClass and what is special about this one."""

    class_ref: Annotated[ClusterClassRef, rules("The ClusterClass to make the cluster of.")]
    version: Annotated[
        str, rules("The Kubernetes version of the whole cluster.", min_length=1, max_length=256)
    ]
    control_plane: Annotated[
        ControlPlaneTopology, rules("What is special about the control plane.")
    ] = field(default_factory=ControlPlaneTopology)
    workers: Annotated[WorkersTopology, rules("The groups of worker machines.")] = field(
        default_factory=WorkersTopology
    )
    variables: Annotated[
        list[ClusterVariable],
        rules(
            "Values for the variables that the ClusterClass defines.",
            min_items=1,
            max_items=1000,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
