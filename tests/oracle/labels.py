"""Topic `labels`: label values, generated names, and what is wrong with their templates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kapy.api.naming import BadNameTemplate, generate_name
from kapy.api.validation.metadata import class_naming_errors, naming_errors
from kapy.kube.field_errors import FieldError
from kapy.kube.generated_names import with_suffix
from kapy.kube.qualified_names import label_value
from kapy.topology.names import control_plane_prefix, worker_prefix
from tests.oracle.topic import Check, Record, compared

_PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "machineDeployment": ("machineDeployment", "topologyName"),
    "machinePool": ("machinePool", "topologyName"),
    "kcpMachine": ("kubeadmControlPlane", "name"),
    "machineSetMachine": ("machineSet", "name"),
}


def _value(record: Record) -> Iterator[str]:
    value = label_value(record["in"])
    yield from compared(record["out"], value)
    yield from compared(record["equal_raw"], record["in"] == value)


def _name(record: Record) -> Iterator[str]:
    template, (first, second) = record["template"], record["random"]
    if record["generator"] == "simple":
        return compared(record["out"], with_suffix(template, first))
    names: dict[str, Any] = {"cluster": {"name": record["cluster"]}}
    if part := _PARTS.get(record["generator"]):
        names[part[0]] = {part[1]: record["name"]}
    try:
        name = generate_name(template, names, first, again=second)
    except BadNameTemplate as error:
        return compared("error" in record, True, f"refused ({error})")
    return compared(record.get("out", record.get("error")), name)


def _prefixes(record: Record) -> Iterator[str]:
    prefix = worker_prefix(record["cluster"], record["name"])
    results = {
        "cluster": record["cluster"],
        "name": record["name"],
        "ControlPlaneInfrastructureMachineTemplateNamePrefix": control_plane_prefix(
            record["cluster"]
        ),
        "BootstrapTemplateNamePrefix": prefix,
        "InfrastructureMachineTemplateNamePrefix": prefix,
        "BootstrapConfigNamePrefix": prefix,
        "InfrastructureMachinePoolNamePrefix": prefix,
    }
    return compared(record, results)


def _validation(record: Record) -> Iterator[str]:
    errors = _errors(record["kind"], record["template"])
    return compared(
        [_shown(error["type"], error["field"], error["detail"]) for error in record["errors"]],
        [_shown(error.type, error.field, error.detail) for error in errors],
    )


def _errors(kind: str, template: str) -> list[FieldError]:
    match kind:
        case "MachineSet" | "MachineDeployment":
            return naming_errors(template, "spec.machineNaming", "machineSet")
        case "KubeadmControlPlane":
            return naming_errors(template, "spec.machineNaming", "kubeadmControlPlane")
        case "ClusterClass.infrastructure":
            return class_naming_errors(template, "spec.infrastructure.naming", "InfraCluster")
        case "ClusterClass.controlPlane":
            return class_naming_errors(template, "spec.controlPlane.naming", "ControlPlane")
    workers = kind.removeprefix("ClusterClass.").removesuffix("s[0]")
    what = workers[0].upper() + workers[1:]
    path = f"spec.workers.{workers}s[c].naming"
    return class_naming_errors(template, path, what, {workers: {"topologyName": "topology"}})


def _shown(type_: str, field: str, detail: str) -> list[str]:
    """The words of the template engine stay out of it."""
    for start in ("parsing template", "rendering template"):
        detail = detail.partition(start)[0] + start if start in detail else detail
    return [type_, field, detail]


FILES: Final[Mapping[str, Check]] = {
    "format_value": _value,
    "names": _name,
    "prefixes": _prefixes,
    "naming_validation": _validation,
}
