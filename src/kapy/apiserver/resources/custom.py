"""Kinds of CustomResourceDefinitions: one for each served version."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial

from kapy.apiserver.resources.conversion_cache import ConversionCache
from kapy.apiserver.resources.kind import Column, Kind
from kapy.apiserver.resources.metadata import finalizer_warnings
from kapy.apiserver.resources.schemas import CustomSchema
from kapy.apiserver.resources.strategy import Strategy
from kapy.kube import Document
from kapy.kube.apply import ToVersion, Tracker, Types
from kapy.kube.digits import parse_integer
from kapy.kube.names import Resource
from kapy.kube.schema import Rules, Structural

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
"""The table of CustomResourceDefinitions."""

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer that keeps a definition until its objects are deleted."""


class CustomStrategy(Strategy):
    """The strategy of custom resources: generation is always maintained, status as the version
    declares.
    """

    generation = True
    allow_unconditional_update = False
    status_update_keeps_metadata = True
    qualified_finalizers = False
    metadata_checks = (0, 1)

    def __init__(self, *, status: bool) -> None:
        self.status = status

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        return finalizer_warnings(document, old)


def storage_version(definition: Document) -> str:
    """Return the storage version of a definition."""
    return str(
        next(
            version["name"] for version in definition["spec"]["versions"] if version.get("storage")
        )
    )


def kinds_of(definition: Document, convert: ToVersion | None = None) -> list[Kind]:
    """Return the Kinds that an established definition serves.

    convert: converts an object to another apiVersion.
    """
    return list(_kinds(definition, convert))


def _tracker(definition: Document, convert: ToVersion | None) -> Tracker:
    group = definition["spec"]["group"]
    types = {
        f"{group}/{version['name']}": Types.of_schema(_schema(version))
        for version in definition["spec"]["versions"]
    }
    if (definition["spec"].get("conversion") or {}).get("strategy") == "Webhook":
        return Tracker(types, ConversionCache())
    return Tracker(types, convert)


def _rules(schema: Document, *, root: bool) -> Rules:
    """Return the CEL rules of a schema node; the CEL package is imported at the first use."""
    from kapy.kube.cel import rule_checker

    return rule_checker(schema, root=root)


def _schema(version: Document) -> Document:
    schema: Document = (version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"}
    return schema


def _kinds(definition: Document, convert: ToVersion | None) -> Iterator[Kind]:
    spec = definition["spec"]
    names = (definition.get("status") or {}).get("acceptedNames") or spec["names"]
    namespaced = spec["scope"] == "Namespaced"
    stored = storage_version(definition)
    plural, kind = names["plural"], names["kind"]
    storage = Resource(spec["group"], stored, plural, kind, namespaced)
    tracker = cache(partial(_tracker, definition, convert))
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        parts = version.get("subresources") or {}
        resource = Resource(spec["group"], version["name"], plural, kind, namespaced)
        yield Kind(
            # Use the same object for the storage version, because each write compares the two.
            resource=storage if resource == storage else resource,
            table=f"{plural}.{spec['group']}",
            storage=storage,
            strategy=CustomStrategy(status="status" in parts),
            schema=CustomSchema(
                partial(Structural.compile, _schema(version), rules=_rules),
                tracker,
                preserve=bool(spec.get("preserveUnknownFields")),
                scale=parts.get("scale"),
                openapi=_schema(version),
            ),
            singular=names.get("singular") or kind.lower(),
            list_kind=names.get("listKind") or f"{kind}List",
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            subresources=frozenset(parts),
            selectable={
                path.lstrip("."): tuple(path.lstrip(".").split("."))
                for path in (field["jsonPath"] for field in version.get("selectableFields") or ())
            },
            columns=tuple(_columns(version)),
            custom=True,
            scale=parts.get("scale"),
            deprecation=_deprecation(spec, version, kind),
        )


def _columns(version: Document) -> Iterator[Column]:
    for column in version.get("additionalPrinterColumns") or ():
        yield Column(
            column["name"],
            column["type"],
            column["jsonPath"],
            column.get("format", ""),
            column.get("description", ""),
            column.get("priority", 0),
        )


def _deprecation(spec: Document, version: Document, kind: str) -> str:
    """Return the warning in each response for a deprecated version."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    group, name = spec["group"], version["name"]
    better = [
        item["name"]
        for item in spec["versions"]
        if item.get("served")
        and not item.get("deprecated")
        and version_priority(item["name"]) > version_priority(name)
    ]
    advice = f"; use {group}/{better[0]} {kind}" if better else ""
    return f"{group}/{name} {kind} is deprecated{advice}"


def version_priority(version: str) -> tuple[int, int, int]:
    """Return Kubernetes' version priority: v2 over v1 over v1beta1 over v1alpha1 over others."""
    match = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", version)
    if match is None:
        return (0, 0, 0)
    stage = {"alpha": 1, "beta": 2, None: 3}[match[2]]
    return (stage, parse_integer(match[1]), parse_integer(match[3] or "0"))
