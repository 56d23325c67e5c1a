"""A Cluster's managed topology: what is to be made of a ClusterClass."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.cluster_topology_workers import WorkersTopology
from kapy.api.embedded import (
    ClusterVariable,
    MachineHealthCheckRemediationTemplateReference,
    MachineReadinessGate,
    MachineTaint,
    TemplateMeta,
    UnhealthyMachineCondition,
    UnhealthyNodeCondition,
)
from kapy.api.patterns import DNS_LABEL, DNS_SUBDOMAIN, REPLICA_RANGE
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


class ControlPlaneTopologyHealthCheckChecks(Model):
    """What makes a control plane Machine unhealthy."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    node_startup_timeout_seconds: Annotated[
        int | None,
        rules(
            "How long a Machine may take until it has a Node; 0 is without a limit.",
            format="int32",
            minimum=0,
        ),
    ] = None
    unhealthy_node_conditions: Annotated[
        list[UnhealthyNodeCondition],
        rules(
            "Conditions of the Node that make a Machine unhealthy, any of them.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    unhealthy_machine_conditions: Annotated[
        list[UnhealthyMachineCondition],
        rules(
            "Conditions of the Machine that make it unhealthy, any of them.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class ControlPlaneTopologyHealthCheckRemediationTriggerIf(Model):
    """When remediation of control plane Machines is allowed."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    unhealthy_less_than_or_equal_to: Annotated[
        int | str | None,
        rules("As long as no more Machines than this (number or percentage) are unhealthy."),
    ] = None
    unhealthy_in_range: Annotated[
        str,
        rules(
            "As long as the number of unhealthy Machines is in this range, as in [3-5].",
            min_length=1,
            max_length=32,
            pattern=REPLICA_RANGE,
        ),
    ] = ""


class ControlPlaneTopologyHealthCheckRemediation(Model):
    """What happens to unhealthy control plane Machines."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    trigger_if: Annotated[
        ControlPlaneTopologyHealthCheckRemediationTriggerIf, rules("When remediation is allowed.")
    ] = field(default_factory=ControlPlaneTopologyHealthCheckRemediationTriggerIf)
    template_ref: Annotated[
        MachineHealthCheckRemediationTemplateReference | None,
        rules("A template of the objects that ask somebody else to remediate."),
    ] = None


class ControlPlaneTopologyHealthCheck(Model):
    """How unhealthy control plane Machines are treated."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    enabled: Annotated[
        bool | None,
        rules("Whether there is a MachineHealthCheck; the ClusterClass decides unless said."),
    ] = None
    checks: Annotated[
        ControlPlaneTopologyHealthCheckChecks, rules("What makes a Machine unhealthy.")
    ] = field(default_factory=ControlPlaneTopologyHealthCheckChecks)
    remediation: Annotated[
        ControlPlaneTopologyHealthCheckRemediation, rules("What happens to an unhealthy Machine.")
    ] = field(default_factory=ControlPlaneTopologyHealthCheckRemediation)


class ControlPlaneTopologyMachineDeletionSpec(Model):
    """How control plane Machines are deleted."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    node_drain_timeout_seconds: Annotated[
        int | None,
        rules(
            "How long draining a Node may take; 0 or nothing is without a limit.",
            format="int32",
            minimum=0,
        ),
    ] = None
    node_volume_detach_timeout_seconds: Annotated[
        int | None,
        rules(
            "How long to wait for volumes to be detached; 0 or nothing is without a limit.",
            format="int32",
            minimum=0,
        ),
    ] = None
    node_deletion_timeout_seconds: Annotated[
        int | None,
        rules(
            "How long to try to delete a Node whose machine is gone; 0 is without a limit.",
            format="int32",
            minimum=0,
        ),
    ] = None


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


class ControlPlaneVariables(Model):
    """Variables of the control plane."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    overrides: Annotated[
        list[ClusterVariable],
        rules(
            "Values in the place of the cluster's own.",
            min_items=1,
            max_items=1000,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)


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
    deletion: Annotated[
        ControlPlaneTopologyMachineDeletionSpec, rules("How Machines are deleted.")
    ] = field(default_factory=ControlPlaneTopologyMachineDeletionSpec)
    taints: Annotated[
        list[MachineTaint],
        rules(
            "Taints that the Nodes of the machines get.",
            min_items=1,
            max_items=64,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["key", "effect"],
        ),
    ] = field(default_factory=list)
    readiness_gates: Annotated[
        list[MachineReadinessGate],
        rules(
            "Conditions that must hold too before a Machine counts as Ready.",
            min_items=1,
            max_items=32,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["conditionType"],
        ),
    ] = field(default_factory=list)
    variables: Annotated[
        ControlPlaneVariables, rules("Values of variables that count for the control plane only.")
    ] = field(default_factory=ControlPlaneVariables)


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
