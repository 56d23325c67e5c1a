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
    ObjectReference | None,
    rules(
        "ref is a reference to the template. The API version in it follows from the "
        "contract. A change rolls out new Machines in all Clusters of the class if the "
        "content of the template is different.",
        required=True,
        zero="written",
    ),
]


class LocalObjectTemplate(OldModel):
    """LocalObjectTemplate is a template from which the objects of a Cluster are created."""

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
    MachineHealthCheckClass | None,
    rules(
        "machineHealthCheck configures a MachineHealthCheck for the Machines. If it is "
        "not set, there is none, unless the Cluster defines one."
    ),
]
Naming = Annotated[
    ClassNaming | None,
    rules(
        "namingStrategy configures the names of the objects of the class. A change "
        "applies to new objects only."
    ),
]
_ClassName = Annotated[str, rules(min_length=1, max_length=256)]
_MinReadySeconds = Annotated[
    int | None,
    rules(format="int32"),
]


class WorkerTemplate(OldModel):
    """WorkerTemplate describes the machines of a class."""

    metadata: Annotated[TemplateMeta, rules(same_as="MachineDeploymentClass.metadata")] = field(
        default_factory=TemplateMeta
    )
    bootstrap: Annotated[
        LocalObjectTemplate,
        rules(
            "bootstrap is the template of the bootstrap objects. A change rolls out new Machines.",
            required=True,
        ),
    ] = field(default_factory=LocalObjectTemplate)
    infrastructure: Annotated[
        LocalObjectTemplate,
        rules(
            "infrastructure is the template of the infrastructure objects. A change rolls "
            "out new Machines.",
            required=True,
        ),
    ] = field(default_factory=LocalObjectTemplate)


_Template = Annotated[
    WorkerTemplate,
    rules("template describes the machines of the class. A change rolls out new Machines."),
]


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
    taints: Annotated[Taints, rules(same_as="MachineDeploymentClass.taints")] = field(
        default_factory=list
    )
    min_ready_seconds: _MinReadySeconds = None
    readiness_gates: ReadinessGates = field(default_factory=list)
    strategy: Annotated[
        MachineDeploymentStrategy | None,
        rules(same_as="MachineDeploymentClassRolloutSpec.strategy"),
    ] = None


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
    taints: Annotated[Taints, rules(same_as="MachinePoolClass.taints")] = field(
        default_factory=list
    )
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
