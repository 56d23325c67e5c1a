"""Changes a converted manifest to the exact output of upstream's command.

Upstream's `convert` only runs the generated part of the conversions, not the webhooks' additions:
references to provider objects and `status.initialization` are lost, and so is `minReadySeconds`,
which is not moved; unset flags and counters become false and 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kapy.api.v1beta1.class_conversion import FLAGS, ONE_SCHEMA, SEVERAL_SCHEMAS
from kapy.kube import Document

_MACHINE: Final = ("bootstrap.configRef", "infrastructureRef")
_TEMPLATE: Final = tuple(f"spec.template.spec.{item}" for item in (*_MACHINE, "minReadySeconds"))
_INITIALIZATION: Final = "status.initialization"
_LOST_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "Cluster": ("spec.infrastructureRef", "spec.controlPlaneRef", _INITIALIZATION),
    "Machine": (*(f"spec.{item}" for item in _MACHINE), _INITIALIZATION),
    "MachineDeployment": _TEMPLATE,
    "MachinePool": (*_TEMPLATE, _INITIALIZATION),
    "MachineSet": _TEMPLATE,
}
_UNSET: Final[Mapping[str, Mapping[str, Document]]] = {
    "Cluster": {"spec": {"paused": False}},
    "MachineDeployment": {"spec": {"paused": False}},
    "MachineHealthCheck": {
        "status": {"currentHealthy": 0, "expectedMachines": 0, "remediationsAllowed": 0}
    },
}
_MATCHED_FIELDS: Final = ("controlPlane", "infrastructureCluster")


def as_upstream(document: Document) -> list[str]:
    """Change a converted object to upstream's output; returns a sentence for each loss."""
    kind, metadata = document["kind"], document.get("metadata") or {}
    name = "/".join(filter(None, (metadata.get("namespace"), metadata.get("name"))))
    document["metadata"] = {
        key: value for key, value in metadata.items() if value not in ({}, [], None)
    }
    losses = [
        f"{kind} {name}: {path} is left out ({_loss_text(lost)})"
        for path in _LOST_FIELDS.get(kind, ())
        if (lost := _take_value(document, path)) is not None
    ]
    for part, unset in _UNSET.get(kind, {}).items():
        document[part] = {**unset, **(document.get(part) or {})}
    if kind == "ClusterClass":
        _set_flags(document)
    return losses


def _loss_text(lost: Any) -> str:
    if isinstance(lost, dict) and "kind" in lost:
        return f"{lost['kind']} {lost.get('name')}"
    return json.dumps(lost)


def _take_value(document: Document, path: str) -> Any:
    """Remove and return the value at a path, and remove maps that become empty."""
    *parents, last = path.split(".")
    chain = [document]
    for part in parents:
        inner = chain[-1].get(part)
        if not isinstance(inner, dict):
            return None
        chain.append(inner)
    value = chain[-1].pop(last, None)
    if value is not None and parents[-1] in ("bootstrap", "status") and not chain[-1]:
        del chain[-2][parents[-1]]
    return value


def _set_flags(document: Document) -> None:
    """Set the flags of patches and of schemas, in the specification and in the status."""
    spec = document.get("spec") or {}
    for patch in spec.get("patches") or ():
        for definition in patch.get("definitions") or ():
            matched = definition.setdefault("selector", {}).setdefault("matchResources", {})
            for flag in _MATCHED_FIELDS:
                matched.setdefault(flag, False)
    for variable in spec.get("variables") or ():
        _set_flags_of(variable)
    for variable in (document.get("status") or {}).get("variables") or ():
        variable.setdefault("definitionsConflict", False)
        for definition in variable.get("definitions") or ():
            _set_flags_of(definition)


def _set_flags_of(variable: Document) -> None:
    for schema in _schemas((variable.get("schema") or {}).get("openAPIV3Schema") or {}):
        for flag in FLAGS:
            schema.setdefault(flag, False)


def _schemas(schema: Document) -> Iterator[Document]:
    yield schema
    inner = [
        *(schema.get("properties") or {}).values(),
        *(schema[element] for element in ONE_SCHEMA if element in schema),
        *(element for several in SEVERAL_SCHEMAS for element in schema.get(several) or ()),
    ]
    for item in inner:
        yield from _schemas(item)
