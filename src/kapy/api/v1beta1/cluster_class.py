"""ClusterClass in v1beta1."""

from typing import Annotated, Any, Final

from msgspec import field

from kapy.api import cluster_class, cluster_class_template, cluster_class_workers
from kapy.api.cluster_class_template import ClassNaming
from kapy.api.core_v1 import ObjectReference
from kapy.api.embedded import TemplateMeta
from kapy.api.older.difference import (
    Difference,
    OldModel,
    added,
    looser,
    optional,
    pointers,
    removed,
    required,
    retyped,
)
from kapy.api.v1beta1.embedded import CONDITIONS, V1Beta2
from kapy.api.v1beta1.health_check import MachineHealthCheckClass
from kapy.api.v1beta1.machines import DELETION_TIMEOUTS
from kapy.api.v1beta1.rollout import MachineDeploymentStrategy
from kapy.kube.model import rules

_TemplateRef = Annotated[
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

    ref: _TemplateRef = None


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


_HEALTH_CHECK: Final[dict[str, Any]] = {
    "machine_health_check": Annotated[
        MachineHealthCheckClass | None,
        rules(
            "machineHealthCheck configures a MachineHealthCheck for the Machines. If it is "
            "not set, there is none, unless the Cluster defines one."
        ),
    ]
}
_NAMING: Final[dict[str, Any]] = {
    "naming_strategy": Annotated[
        ClassNaming | None,
        rules(
            "namingStrategy configures the names of the objects of the class. A change "
            "applies to new objects only."
        ),
    ]
}
_TEMPLATE: Final[dict[str, Any]] = {
    "template": Annotated[
        WorkerTemplate,
        rules("template describes the machines of the class. A change rolls out new Machines."),
    ]
}

DIFFERENCES: Final = (
    Difference(
        cluster_class.ControlPlaneClass,
        removed("template_ref", "health_check", "naming", "deletion"),
        retyped(machine_infrastructure=LocalObjectTemplate | None),
        looser("readiness_gates"),
        added(ref=_TemplateRef, **_HEALTH_CHECK, **_NAMING, **DELETION_TIMEOUTS),
    ),
    Difference(
        cluster_class.ClusterClassSpec,
        optional("infrastructure", "control_plane"),
        retyped(infrastructure=LocalObjectTemplate),
        looser("availability_gates", "variables", "patches"),
        added(
            infrastructure_naming_strategy=Annotated[
                ClassNaming | None, rules(same_as="InfrastructureClass.naming")
            ]
        ),
    ),
    Difference(
        cluster_class.ClusterClassStatus,
        removed("deprecated"),
        retyped(**CONDITIONS),
        looser("variables", "observed_generation"),
        added(v1beta2=V1Beta2),
    ),
    Difference(cluster_class_template.ClassNaming, pointers("template")),
    Difference(
        cluster_class_workers.MachineDeploymentClass,
        removed(
            "metadata",
            "bootstrap",
            "infrastructure",
            "health_check",
            "naming",
            "deletion",
            "rollout",
        ),
        pointers("failure_domain"),
        looser("min_ready_seconds", "readiness_gates"),
        required(**_TEMPLATE),
        added(
            **_HEALTH_CHECK,
            **_NAMING,
            **DELETION_TIMEOUTS,
            strategy=Annotated[
                MachineDeploymentStrategy | None,
                rules(same_as="MachineDeploymentClassRolloutSpec.strategy"),
            ],
        ),
    ),
    Difference(
        cluster_class_workers.MachinePoolClass,
        removed("metadata", "bootstrap", "infrastructure", "naming", "deletion"),
        looser("failure_domains", "min_ready_seconds"),
        required(**_TEMPLATE),
        added(**_NAMING, **DELETION_TIMEOUTS),
    ),
    Difference(cluster_class_workers.WorkersClass, looser("machine_deployments", "machine_pools")),
)
