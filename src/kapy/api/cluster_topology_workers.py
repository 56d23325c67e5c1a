"""The groups of worker machines in a Cluster's managed topology."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import ClusterVariable, ReadinessGates, Taints, TemplateMeta
from kapy.api.health_check import WorkerTopologyHealthCheck
from kapy.api.machine import MachineDeletionSpec
from kapy.api.machine_deployment import MachineDeploymentRolloutSpec
from kapy.api.patterns import DNS_SUBDOMAIN
from kapy.api.worker_deletion import WorkerDeletionSpec
from kapy.kube import Document
from kapy.kube.model import Model, rules


class VariableOverrides(Model):
    """Variables of one part of a cluster."""

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


class MachineDeploymentTopology(Model, kw_only=True):
    """One MachineDeployment of a cluster."""

    metadata: Annotated[
        TemplateMeta, rules("Labels and annotations for the MachineDeployment and its Machines.")
    ] = field(default_factory=TemplateMeta)
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
        WorkerTopologyHealthCheck,
        rules("How unhealthy Machines are found and replaced."),
    ] = field(default_factory=WorkerTopologyHealthCheck)
    deletion: Annotated[WorkerDeletionSpec, rules("How Machines are deleted.")] = field(
        default_factory=WorkerDeletionSpec
    )
    taints: Taints = field(default_factory=list)
    min_ready_seconds: Annotated[
        int | None,
        rules("How long a Machine must be Ready to count as Available.", format="int32", minimum=0),
    ] = None
    readiness_gates: ReadinessGates = field(default_factory=list)
    rollout: Annotated[
        MachineDeploymentRolloutSpec, rules("When and how Machines are replaced.")
    ] = field(default_factory=MachineDeploymentRolloutSpec)
    variables: Annotated[
        VariableOverrides,
        rules("Values of variables that count for this MachineDeployment only."),
    ] = field(default_factory=VariableOverrides)


class MachinePoolTopology(Model, kw_only=True):
    """One MachinePool of a cluster."""

    metadata: Annotated[
        TemplateMeta, rules("Labels and annotations for the MachinePool and its machines.")
    ] = field(default_factory=TemplateMeta)
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
    failure_domains: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(
            "The failure domains that its machines are spread over.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    deletion: Annotated[MachineDeletionSpec, rules("How Machines are deleted.")] = field(
        default_factory=MachineDeletionSpec
    )
    taints: Taints = field(default_factory=list)
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
        VariableOverrides, rules("Values of variables that count for this MachinePool only.")
    ] = field(default_factory=VariableOverrides)


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
