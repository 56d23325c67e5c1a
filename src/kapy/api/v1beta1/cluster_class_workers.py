"""The classes of worker machines in a ClusterClass, as v1beta1 had them."""

from typing import Annotated

from msgspec import field

from kapy.api.core_v1 import ObjectReference
from kapy.api.v1beta1.embedded import TemplateMeta
from kapy.api.v1beta1.health_check import MachineHealthCheckClass
from kapy.api.v1beta1.machine import (
    NodeDeletionTimeout,
    NodeDrainTimeout,
    NodeVolumeDetachTimeout,
    ReadinessGates,
    Taints,
)
from kapy.api.v1beta1.model import OldModel
from kapy.api.v1beta1.rollout import MachineDeploymentStrategy
from kapy.kube.model import rules

TemplateRef = Annotated[
    ObjectReference | None, rules("Names the template.", required=True, zero="written")
]


class LocalObjectTemplate(OldModel):
    """A template that objects are made of."""

    ref: TemplateRef = None


class ClassNaming(OldModel):
    template: Annotated[
        str | None,
        rules(
            min_length=1,
            max_length=1024,
        ),
    ] = None


HealthCheck = Annotated[
    MachineHealthCheckClass | None, rules("How unhealthy Machines are found and replaced.")
]
Naming = Annotated[ClassNaming | None, rules("How the objects of the class are named.")]
_ClassName = Annotated[str, rules("What Clusters call the class.", min_length=1, max_length=256)]
_MinReadySeconds = Annotated[
    int | None,
    rules("How long a Machine must be ready to count as available.", format="int32"),
]


class WorkerTemplate(OldModel):
    """What the machines of a class are made of."""

    metadata: Annotated[
        TemplateMeta, rules("Labels and annotations for the objects of the class.")
    ] = field(default_factory=TemplateMeta)
    bootstrap: Annotated[
        LocalObjectTemplate,
        rules("The template of what turns the machines into Nodes.", required=True),
    ] = field(default_factory=LocalObjectTemplate)
    infrastructure: Annotated[
        LocalObjectTemplate, rules("The template of the machines' infrastructure.", required=True)
    ] = field(default_factory=LocalObjectTemplate)


_Template = Annotated[WorkerTemplate, rules("What the machines of the class are made of.")]


class MachineDeploymentClass(OldModel):
    class_: _ClassName
    template: _Template
    machine_health_check: HealthCheck = None
    failure_domain: Annotated[
        str | None,
        rules(
            min_length=1,
            max_length=256,
        ),
    ] = None
    naming_strategy: Naming = None
    node_drain_timeout: NodeDrainTimeout = None
    node_volume_detach_timeout: NodeVolumeDetachTimeout = None
    node_deletion_timeout: NodeDeletionTimeout = None
    taints: Taints = field(default_factory=list)
    min_ready_seconds: _MinReadySeconds = None
    readiness_gates: ReadinessGates = field(default_factory=list)
    strategy: Annotated[MachineDeploymentStrategy | None, rules("How Machines are replaced.")] = (
        None
    )


class MachinePoolClass(OldModel):
    class_: _ClassName
    template: _Template
    failure_domains: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(
            max_items=100,
        ),
    ] = field(default_factory=list)
    naming_strategy: Naming = None
    node_drain_timeout: NodeDrainTimeout = None
    node_volume_detach_timeout: NodeVolumeDetachTimeout = None
    node_deletion_timeout: NodeDeletionTimeout = None
    taints: Taints = field(default_factory=list)
    min_ready_seconds: _MinReadySeconds = None


class WorkersClass(OldModel):
    machine_deployments: Annotated[
        list[MachineDeploymentClass],
        rules(
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["class"],
        ),
    ] = field(default_factory=list)
    machine_pools: Annotated[
        list[MachinePoolClass],
        rules(
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["class"],
        ),
    ] = field(default_factory=list)
