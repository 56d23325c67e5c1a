"""Check that a CRD has the scope and the fields that its contract requires."""

from __future__ import annotations

from typing import Any

from kapy.contract.errors import BrokenDefinition
from kapy.contract.fields import Version, View, fields_of
from kapy.contract.resolve import Resolved
from kapy.kube import Document


def check_definition(crd: Document, where: Resolved, view: type[View]) -> None:
    """Raise BrokenDefinition if objects of the CRD cannot keep the contract of `view`.

    All resources must be namespaced, and the schema of the version that is read must have every
    mandatory field. A part of the schema that preserves unknown fields has them all.
    """
    name = crd["metadata"]["name"]
    if not where.resource.namespaced:
        raise BrokenDefinition(
            f"CRD {name} breaks the {view.__name__} contract {where.contract}: its scope is "
            f"Cluster, and all resources must be Namespaced"
        )
    schema = _schema(crd, where.resource.version)
    missing = [path for path in mandatory_paths(view, where.contract) if not _has(schema, path)]
    if missing:
        paths = " and ".join(f".{item}" for item in missing)
        raise BrokenDefinition(
            f"CRD {name} breaks the {view.__name__} contract {where.contract}: it declares the "
            f"contract for version {where.resource.version}, whose schema has no {paths}"
        )


def mandatory_paths(view: type[View], contract: Version) -> list[str]:
    """Return the paths of the fields that every provider must have."""
    return [field.path(contract) for field in fields_of(view).values() if field.mandatory]


def _schema(crd: Document, version: str) -> Any:
    for item in crd["spec"]["versions"]:
        if item["name"] == version:
            return (item.get("schema") or {}).get("openAPIV3Schema") or {}
    return {}


def _has(schema: Any, path: str) -> bool:
    node = schema
    for part in path.split("."):
        if node.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in node:
            return True
        node = (node.get("properties") or {}).get(part)
        if node is None:
            return False
    return True
