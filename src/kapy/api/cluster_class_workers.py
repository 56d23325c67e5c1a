"""The classes of worker machines in a ClusterClass."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.cluster_class_template import ClassNaming, ClusterClassTemplate
from kapy.api.embedded import ReadinessGates, Taints, TemplateMeta
from kapy.api.health_check import WorkerHealthCheck
from kapy.api.machine import MachineDeletionSpec
from kapy.api.machine_deployment import MachineDeploymentRolloutStrategy
from kapy.api.worker_deletion import WorkerDeletionSpec
from kapy.kube import Document
from kapy.kube.model import Model, rules


class MachineDeploymentClassRolloutSpec(Model):
    """How Machines of a class are replaced."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    strategy: Annotated[
        MachineDeploymentRolloutStrategy | None, rules("How Machines are replaced.", zero="omitted")
    ] = None


class MachineDeploymentClass(Model, kw_only=True):
    """A class of worker machines that MachineDeployments are made of."""

    metadata: Annotated[
        TemplateMeta, rules("Labels and annotations for the MachineDeployments and their Machines.")
    ] = field(default_factory=TemplateMeta)
    class_: Annotated[str, rules("What Clusters call the class.", min_length=1, max_length=256)] = (
        field(name="class")
    )
    bootstrap: Annotated[
        ClusterClassTemplate, rules("The template of what turns the machines into Nodes.")
    ]
    infrastructure: Annotated[
        ClusterClassTemplate, rules("The template of the machines' infrastructure.")
    ]
    health_check: Annotated[
        WorkerHealthCheck, rules("How unhealthy Machines are found and replaced.")
    ] = field(default_factory=WorkerHealthCheck)
    failure_domain: Annotated[
        str,
        rules(
            "The failure domain for all Machines, unless the Cluster says another.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    naming: Annotated[ClassNaming, rules("How MachineDeployments are named.")] = field(
        default_factory=ClassNaming
    )
    deletion: Annotated[WorkerDeletionSpec, rules("How Machines are deleted.")] = field(
        default_factory=WorkerDeletionSpec
    )
    taints: Taints = field(default_factory=list)
    min_ready_seconds: Annotated[
        int | None,
        rules("How long a Machine must be Ready to count as Available.", format="int32", minimum=0),
    ] = None
    readiness_gates: ReadinessGates = field(default_factory=list)
    rollout: Annotated[MachineDeploymentClassRolloutSpec, rules("How Machines are replaced.")] = (
        field(default_factory=MachineDeploymentClassRolloutSpec)
    )


class MachinePoolClass(Model, kw_only=True):
    """A class of worker machines that MachinePools are made of."""

    metadata: Annotated[
        TemplateMeta, rules("Labels and annotations for the MachinePools and their machines.")
    ] = field(default_factory=TemplateMeta)
    class_: Annotated[str, rules("What Clusters call the class.", min_length=1, max_length=256)] = (
        field(name="class")
    )
    bootstrap: Annotated[
        ClusterClassTemplate, rules("The template of what turns the machines into Nodes.")
    ]
    infrastructure: Annotated[
        ClusterClassTemplate, rules("The template of the machines' infrastructure.")
    ]
    failure_domains: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(
            "The failure domains to spread machines over, unless the Cluster says others.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    naming: Annotated[ClassNaming, rules("How MachinePools are named.")] = field(
        default_factory=ClassNaming
    )
    deletion: Annotated[MachineDeletionSpec, rules("How machines are deleted.")] = field(
        default_factory=MachineDeletionSpec
    )
    taints: Taints = field(default_factory=list)
    min_ready_seconds: Annotated[
        int | None,
        rules("How long a machine must be ready to count as available.", format="int32", minimum=0),
    ] = None


class WorkersClass(Model):
    """The classes of worker machines."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    machine_deployments: Annotated[
        list[MachineDeploymentClass],
        rules(
            "The classes that MachineDeployments are made of.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["class"],
        ),
    ] = field(default_factory=list)
    machine_pools: Annotated[
        list[MachinePoolClass],
        rules(
            "The classes that MachinePools are made of.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["class"],
        ),
    ] = field(default_factory=list)
