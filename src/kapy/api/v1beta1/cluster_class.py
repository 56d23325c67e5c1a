"""ClusterClass in v1beta1."""

from typing import Annotated, Any, Final

from msgspec import field

from kapy.api import cluster_class, cluster_class_template, cluster_class_workers
from kapy.api.cluster_class_template import ClassNaming
from kapy.api.core_v1 import ObjectReference
from kapy.api.embedded import TemplateMeta
from kapy.api.older.difference import Difference, OldModel, Place, Row
from kapy.api.older.documents import value_at
from kapy.api.older.rows import (
    add,
    add_required,
    custom,
    drop,
    loosen,
    make_optional,
    pointers,
    retype,
)
from kapy.api.older.status import conditions
from kapy.api.v1beta1.class_conversion import (
    upgrade_patches,
    upgrade_status_variables,
    upgrade_variables,
)
from kapy.api.v1beta1.embedded import V1Beta2
from kapy.api.v1beta1.health_check import MachineHealthCheckClass, health_check
from kapy.api.v1beta1.machines import deletion_timeouts
from kapy.api.v1beta1.rollout import strategy
from kapy.kube import Document
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


_HEALTH_CHECK: Final = health_check(
    MachineHealthCheckClass,
    "machineHealthCheck configures a MachineHealthCheck for the Machines. If it is "
    "not set, there is none, unless the Cluster defines one.",
)
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

_TEMPLATE_REF: Final = ("kind", "name", "apiVersion")


def _upgrade_ref(template: Document, _: Document | None = None, __: Place | None = None) -> None:
    ref = template.pop("ref", None) or {}
    template["templateRef"] = {key: ref[key] for key in _TEMPLATE_REF if key in ref}


def _downgrade_ref(template: Document, place: Place) -> None:
    template["ref"] = {**template.pop("templateRef", {}), "namespace": place.namespace}


def _upgrade_naming(class_: Document, _: Document | None, __: Place) -> None:
    _rename_naming(class_, "namingStrategy", class_)


def _rename_naming(old: Document, name: str, new: Document) -> None:
    if (naming := old.pop(name, None)) is not None:
        new["naming"] = naming if naming.get("template") else {}


def _downgrade_naming(class_: Document, _: Place) -> None:
    if naming := class_.pop("naming", None):
        class_["namingStrategy"] = naming


def _upgrade_control_plane(control_plane: Document, _: Document | None, __: Place) -> None:
    _upgrade_ref(control_plane)
    if (machines := control_plane.get("machineInfrastructure")) is not None:
        _upgrade_ref(machines)


def _downgrade_control_plane(control_plane: Document, place: Place) -> None:
    _downgrade_ref(control_plane, place)
    if machines := control_plane.get("machineInfrastructure"):
        _downgrade_ref(machines, place)


def _upgrade_worker(worker: Document, _: Document | None, __: Place) -> None:
    template = worker.pop("template")
    for part in ("bootstrap", "infrastructure"):
        _upgrade_ref(template[part])
    worker |= template


def _downgrade_worker(worker: Document, place: Place) -> None:
    worker["template"] = template = {
        part: worker.pop(part, {}) for part in ("metadata", "bootstrap", "infrastructure")
    }
    for part in ("bootstrap", "infrastructure"):
        _downgrade_ref(template[part], place)


def _upgrade_spec(spec: Document, memory: Document | None, _: Place) -> None:
    infrastructure = spec["infrastructure"]
    _upgrade_ref(infrastructure)
    _rename_naming(spec, "infrastructureNamingStrategy", infrastructure)
    before = memory or {}
    upgrade_variables(spec.get("variables") or [], before.get("variables") or [])
    upgrade_patches(spec.get("patches") or [], before.get("patches") or [])


def _downgrade_spec(spec: Document, place: Place) -> None:
    infrastructure = spec.setdefault("infrastructure", {})
    spec.setdefault("controlPlane", {})
    _downgrade_ref(infrastructure, place)
    if naming := infrastructure.pop("naming", None):
        spec["infrastructureNamingStrategy"] = naming


def _upgrade_status(status: Document, memory: Document | None, _: Place) -> None:
    before = value_at(memory, "variables") or []
    upgrade_status_variables(status.get("variables") or [], before)


def _downgrade_class(cluster_class: Document, _: Place) -> None:
    cluster_class.setdefault("spec", {})


_CLASS: Final[tuple[Row, ...]] = (
    drop("naming", "deletion"),
    add(**_NAMING),
    custom(_upgrade_naming, _downgrade_naming),
    *deletion_timeouts(),
)
_WORKER: Final[tuple[Row, ...]] = (
    drop("metadata", "bootstrap", "infrastructure"),
    add_required(**_TEMPLATE),
    custom(_upgrade_worker, _downgrade_worker),
)

DIFFERENCES: Final = (
    Difference(
        cluster_class.ControlPlaneClass,
        drop("template_ref", "health_check"),
        retype(machine_infrastructure=LocalObjectTemplate | None),
        loosen("readiness_gates"),
        add(ref=_TemplateRef),
        custom(_upgrade_control_plane, _downgrade_control_plane),
        *_HEALTH_CHECK,
        *_CLASS,
    ),
    Difference(
        cluster_class.ClusterClassSpec,
        make_optional("infrastructure", "control_plane"),
        retype(infrastructure=LocalObjectTemplate),
        loosen("availability_gates", "variables", "patches"),
        add(
            infrastructure_naming_strategy=Annotated[
                ClassNaming | None, rules(same_as="InfrastructureClass.naming")
            ]
        ),
        custom(_upgrade_spec, _downgrade_spec, restores=True),
    ),
    Difference(
        cluster_class.ClusterClassStatus,
        loosen("variables", "observed_generation"),
        custom(_upgrade_status, None, restores=True),
        conditions(V1Beta2),
    ),
    Difference(cluster_class.ClusterClass, custom(None, _downgrade_class)),
    Difference(cluster_class_template.ClassNaming, pointers("template")),
    Difference(
        cluster_class_workers.MachineDeploymentClass,
        *_WORKER,
        drop("health_check", "rollout"),
        pointers("failure_domain"),
        loosen("min_ready_seconds", "readiness_gates"),
        *strategy("MachineDeploymentClassRolloutSpec.strategy"),
        *_HEALTH_CHECK,
        *_CLASS,
    ),
    Difference(
        cluster_class_workers.MachinePoolClass,
        *_WORKER,
        loosen("failure_domains", "min_ready_seconds"),
        *_CLASS,
    ),
    Difference(cluster_class_workers.WorkersClass, loosen("machine_deployments", "machine_pools")),
)
