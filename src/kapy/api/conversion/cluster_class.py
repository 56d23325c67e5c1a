"""ClusterClass in v1beta1 (upstream's core/webhooks/conversion)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kapy.api.conversion.cluster_class_variables import (
    status_variables_to_hub,
    variables_from_hub,
    variables_to_hub,
)
from kapy.api.conversion.health_check import health_check_from_hub, health_check_to_hub
from kapy.api.conversion.moves import (
    DELETION_TIMEOUTS,
    bool_to_pointer,
    put,
    status_from_hub,
    status_to_hub,
    timeouts_from_seconds,
    timeouts_to_seconds,
    value_at,
)
from kapy.api.conversion.spoke import ReferenceVersion, Spoke
from kapy.api.conversion.worker_rollout import strategy_from_hub, strategy_to_hub
from kapy.kube import Document

_TEMPLATE_REF: Final = ("kind", "name", "apiVersion")
_EXTENSIONS: Final = {
    "generateExtension": "generatePatchesExtension",
    "validateExtension": "validateTopologyExtension",
}
_WORKERS: Final = ("machineDeployments", "machinePools")


def _to_hub(cluster_class: Document, remembered: Document | None) -> None:
    spec, status = cluster_class["spec"], cluster_class["status"]
    before = value_at(remembered, "spec") or {}
    infrastructure = spec["infrastructure"]
    _ref_to_hub(infrastructure)
    _naming_to_hub(spec, "infrastructureNamingStrategy", infrastructure)
    control_plane = spec["controlPlane"]
    _ref_to_hub(control_plane)
    if (machines := control_plane.get("machineInfrastructure")) is not None:
        _ref_to_hub(machines)
    _class_to_hub(control_plane)
    for kind in _WORKERS:
        for worker in spec["workers"].get(kind) or ():
            _worker_to_hub(worker)
    variables_to_hub(spec.get("variables") or [], before.get("variables") or [])
    _patches_to_hub(spec.get("patches") or [], before.get("patches") or [])
    status_variables_to_hub(
        status.get("variables") or [], value_at(remembered, "status", "variables") or []
    )
    status_to_hub(status, ())


def _worker_to_hub(worker: Document) -> None:
    template = worker.pop("template")
    for part in ("bootstrap", "infrastructure"):
        _ref_to_hub(template[part])
    worker |= template
    strategy_to_hub(worker)
    _class_to_hub(worker)


def _class_to_hub(class_: Document) -> None:
    health_check_to_hub(class_)
    _naming_to_hub(class_, "namingStrategy", class_)
    timeouts_to_seconds(class_, class_.setdefault("deletion", {}), DELETION_TIMEOUTS)


def _ref_to_hub(template: Document) -> None:
    ref = template.pop("ref", None) or {}
    template["templateRef"] = {key: ref[key] for key in _TEMPLATE_REF if key in ref}


def _naming_to_hub(old: Document, name: str, new: Document) -> None:
    if (naming := old.pop(name, None)) is not None:
        new["naming"] = naming if naming.get("template") else {}


def _patches_to_hub(patches: list[Any], remembered: list[Any]) -> None:
    before: dict[str, list[Any]] = {}
    for one in remembered:
        before.setdefault(one.get("name", ""), one.get("definitions") or [])
    sources: dict[str, list[Any]] = {}
    for patch in patches:
        definitions = patch.get("definitions") or []
        name = patch.get("name", "")
        source = sources.setdefault(name, definitions)
        _matches_to_hub(definitions, source, before.get(name) or [])
        for definition in definitions:
            if definition.get("jsonPatches") is None:
                definition.pop("jsonPatches", None)
        if external := patch.get("external"):
            for old, new in _EXTENSIONS.items():
                put(external, new, external.pop(old, None))


def _matches_to_hub(
    definitions: list[Document], source: list[Document], remembered: list[Document]
) -> None:
    """source: as upstream does, the definitions of the first patch of the same name, if it has as
    many."""
    for number, definition in enumerate(definitions):
        matches = definition["selector"]["matchResources"]
        said, before = (
            value_at(one[number], "selector", "matchResources")
            if len(one) == len(definitions)
            else None
            for one in (source, remembered)
        )
        for name in ("controlPlane", "infrastructureCluster"):
            put(matches, name, bool_to_pointer(value_at(said, name), value_at(before, name)))


def _from_hub(cluster_class: Document, _: ReferenceVersion) -> None:
    spec, status = cluster_class.setdefault("spec", {}), cluster_class.get("status", {})
    namespace = cluster_class["metadata"].get("namespace", "")
    infrastructure = spec.setdefault("infrastructure", {})
    _ref_from_hub(infrastructure, namespace)
    _naming_from_hub(infrastructure, spec, "infrastructureNamingStrategy")
    control_plane = spec.setdefault("controlPlane", {})
    _ref_from_hub(control_plane, namespace)
    if machines := control_plane.get("machineInfrastructure"):
        _ref_from_hub(machines, namespace)
    _class_from_hub(control_plane, namespace)
    for kind in _WORKERS:
        for worker in value_at(spec, "workers", kind) or ():
            _worker_from_hub(worker, namespace)
    variables_from_hub(spec.get("variables") or [])
    for patch in spec.get("patches") or ():
        if external := patch.get("external"):
            for old, new in _EXTENSIONS.items():
                put(external, old, external.pop(new, None))
    for variable in status.get("variables") or ():
        variables_from_hub(variable.get("definitions") or [])
    status_from_hub(status, ())


def _worker_from_hub(worker: Document, namespace: str) -> None:
    worker["template"] = template = {
        part: worker.pop(part, {}) for part in ("metadata", "bootstrap", "infrastructure")
    }
    for part in ("bootstrap", "infrastructure"):
        _ref_from_hub(template[part], namespace)
    strategy_from_hub(worker)
    _class_from_hub(worker, namespace)


def _class_from_hub(class_: Document, namespace: str) -> None:
    health_check_from_hub(class_, namespace)
    _naming_from_hub(class_, class_, "namingStrategy")
    timeouts_from_seconds(class_.pop("deletion", {}), class_, DELETION_TIMEOUTS)


def _ref_from_hub(template: Document, namespace: str) -> None:
    template["ref"] = {**template.pop("templateRef", {}), "namespace": namespace}


def _naming_from_hub(new: Document, old: Document, name: str) -> None:
    if naming := new.pop("naming", None):
        old[name] = naming


SPOKES: Final[Mapping[tuple[str, str], Spoke]] = {
    ("ClusterClass", "v1beta1"): Spoke(_to_hub, _from_hub)
}
