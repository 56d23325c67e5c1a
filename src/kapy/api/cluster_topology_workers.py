"""The groups of worker machines in a Cluster's managed topology."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import (
    ClusterVariable,
    MachineHealthCheckRemediationTemplateReference,
    MachineReadinessGate,
    MachineTaint,
    TemplateMeta,
    UnhealthyMachineCondition,
    UnhealthyNodeCondition,
)
from kapy.api.patterns import DNS_SUBDOMAIN, REPLICA_RANGE
from kapy.kube import Document
from kapy.kube.model import Model, rules


class MachineDeploymentTopologyHealthCheckChecks(Model):
    """What makes a worker Machine unhealthy."""

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


class MachineDeploymentTopologyHealthCheckRemediationTriggerIf(Model):
    """When remediation of worker Machines is allowed."""

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


class MachineDeploymentTopologyHealthCheckRemediation(Model):
    """What happens to unhealthy worker Machines."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    max_in_flight: Annotated[
        int | str | None,
        rules("How many Machines (number or percentage) may be replaced at the same time."),
    ] = None
    trigger_if: Annotated[
        MachineDeploymentTopologyHealthCheckRemediationTriggerIf,
        rules("When remediation is allowed."),
    ] = field(default_factory=MachineDeploymentTopologyHealthCheckRemediationTriggerIf)
    template_ref: Annotated[
        MachineHealthCheckRemediationTemplateReference | None,
        rules("A template of the objects that ask somebody else to remediate."),
    ] = None


class MachineDeploymentTopologyHealthCheck(Model):
    """How unhealthy Machines of the MachineDeployment are treated."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    enabled: Annotated[
        bool | None,
        rules("Whether there is a MachineHealthCheck; the ClusterClass decides unless said."),
    ] = None
    checks: Annotated[
        MachineDeploymentTopologyHealthCheckChecks, rules("What makes a Machine unhealthy.")
    ] = field(default_factory=MachineDeploymentTopologyHealthCheckChecks)
    remediation: Annotated[
        MachineDeploymentTopologyHealthCheckRemediation,
        rules("What happens to an unhealthy Machine."),
    ] = field(default_factory=MachineDeploymentTopologyHealthCheckRemediation)


class MachineDeploymentTopologyMachineDeletionSpec(Model):
    """How Machines of the MachineDeployment are deleted."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    order: Annotated[
        str,
        rules(
            "Which Machines go first when there are too many: Random, Newest or Oldest.",
            enum=["Random", "Newest", "Oldest"],
        ),
    ] = ""
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


class MachineDeploymentTopologyRolloutStrategyRollingUpdate(Model):
    """The size of the steps of a rolling update."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    max_unavailable: Annotated[
        int | str | None,
        rules("How many Machines (number or percentage) may be missing meanwhile."),
    ] = None
    max_surge: Annotated[
        int | str | None,
        rules("How many more Machines (number or percentage) there may be meanwhile."),
    ] = None


class MachineDeploymentTopologyRolloutStrategy(Model):
    """How Machines are replaced."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    type: Annotated[
        str,
        rules(
            "Step by step (RollingUpdate) or when somebody deletes them (OnDelete).",
            enum=["RollingUpdate", "OnDelete"],
        ),
    ]
    rolling_update: Annotated[
        MachineDeploymentTopologyRolloutStrategyRollingUpdate,
        rules("The size of the steps of a rolling update."),
    ] = field(default_factory=MachineDeploymentTopologyRolloutStrategyRollingUpdate)


class MachineDeploymentTopologyRolloutSpec(Model):
    """When and how Machines of the MachineDeployment are replaced."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    after: Annotated[
        str | None,
        rules(
            "Machines that are older than this moment are replaced once it has passed.",
            format="date-time",
        ),
    ] = None
    strategy: Annotated[
        MachineDeploymentTopologyRolloutStrategy | None, rules("How Machines are replaced.")
    ] = None


class MachineDeploymentVariables(Model):
    """Variables of one MachineDeployment."""

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


class MachineDeploymentTopology(Model):
    """One MachineDeployment of a cluster."""

    class_: Annotated[
        str,
        rules("The class of worker machines in the ClusterClass.", min_length=1, max_length=256),
    ]
    name: Annotated[
        str,
        rules(
            "What this MachineDeployment is called within the topology.",
            min_length=1,
            max_length=63,
            pattern=DNS_SUBDOMAIN,
        ),
    ]
    metadata: Annotated[
        TemplateMeta, rules("Labels and annotations for the MachineDeployment and its Machines.")
    ] = field(default_factory=TemplateMeta)
    failure_domain: Annotated[
        str, rules("The failure domain for all of its Machines.", min_length=1, max_length=256)
    ] = ""
    replicas: Annotated[
        int | None,
        rules(
            "How many Machines there should be; an autoscaler decides when absent.", format="int32"
        ),
    ] = None
    health_check: Annotated[
        MachineDeploymentTopologyHealthCheck,
        rules("How unhealthy Machines are found and replaced."),
    ] = field(default_factory=MachineDeploymentTopologyHealthCheck)
    deletion: Annotated[
        MachineDeploymentTopologyMachineDeletionSpec, rules("How Machines are deleted.")
    ] = field(default_factory=MachineDeploymentTopologyMachineDeletionSpec)
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
    min_ready_seconds: Annotated[
        int | None,
        rules("How long a Machine must be Ready to count as Available.", format="int32", minimum=0),
    ] = None
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
    rollout: Annotated[
        MachineDeploymentTopologyRolloutSpec, rules("When and how Machines are replaced.")
    ] = field(default_factory=MachineDeploymentTopologyRolloutSpec)
    variables: Annotated[
        MachineDeploymentVariables,
        rules("Values of variables that count for this MachineDeployment only."),
    ] = field(default_factory=MachineDeploymentVariables)


class MachinePoolTopologyMachineDeletionSpec(Model):
    """How machines of the MachinePool are deleted."""

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


class MachinePoolVariables(Model):
    """Variables of one MachinePool."""

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


class MachinePoolTopology(Model):
    """One MachinePool of a cluster."""

    class_: Annotated[
        str, rules("The class of machine pools in the ClusterClass.", min_length=1, max_length=256)
    ]
    name: Annotated[
        str,
        rules(
            "What this MachinePool is called within the topology.",
            min_length=1,
            max_length=63,
            pattern=DNS_SUBDOMAIN,
        ),
    ]
    metadata: Annotated[
        TemplateMeta, rules("Labels and annotations for the MachinePool and its machines.")
    ] = field(default_factory=TemplateMeta)
    failure_domains: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(
            "The failure domains that its machines are spread over.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    deletion: Annotated[
        MachinePoolTopologyMachineDeletionSpec, rules("How Machines are deleted.")
    ] = field(default_factory=MachinePoolTopologyMachineDeletionSpec)
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
    min_ready_seconds: Annotated[
        int | None,
        rules("How long a machine must be ready to count as available.", format="int32", minimum=0),
    ] = None
    replicas: Annotated[
        int | None,
        rules(
            "How many machines there should be; an autoscaler decides when absent.", format="int32"
        ),
    ] = None
    variables: Annotated[
        MachinePoolVariables, rules("Values of variables that count for this MachinePool only.")
    ] = field(default_factory=MachinePoolVariables)


class WorkersTopology(Model):
    """The groups of worker machines."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    machine_deployments: Annotated[
        list[MachineDeploymentTopology],
        rules(
            "The MachineDeployments.",
            min_items=1,
            max_items=2000,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
    machine_pools: Annotated[
        list[MachinePoolTopology],
        rules(
            "The MachinePools.",
            min_items=1,
            max_items=2000,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
