"""OpenAPI v3: one document for each group and version, generated on request.

Schemas of custom resources come from their CRDs, those of built-in kinds from the struct facts. The
paths contain the operations and parameters that kubectl reads.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from kapy import __version__
from kapy.apiserver.openapi.descriptions import FIELDS, KINDS, WORDS
from kapy.apiserver.openapi.paths import META, add_paths, ref
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.registry import Registry
from kapy.apiserver.resources.schemas import CustomSchema
from kapy.apiserver.resources.structs import facts
from kapy.kube import Document

_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_API_VERSION = {
    "description": "APIVersion defines the versioned schema of this representation of an object. "
    "Servers should convert recognized schemas to the latest internal value, and may reject "
    f"unrecognized values. More info: {_CONVENTIONS}#resources",
    "type": "string",
}
_KIND = {
    "description": "Kind is a string value representing the REST resource this object represents. "
    "Servers may infer this from the endpoint the client submits requests to. Cannot be updated. "
    f"In CamelCase. More info: {_CONVENTIONS}#types-kinds",
    "type": "string",
}
_LEAVES: dict[str, Document] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "float64": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
    "time": {"type": "string", "format": "date-time"},
    "microtime": {"type": "string", "format": "date-time"},
    "quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "intstr": {"oneOf": [{"type": "string"}, {"type": "integer"}], "format": "int-or-string"},
    "any": {"type": "object"},
}


def index(registry: Registry) -> Document:
    """Return the document at `/openapi/v3`, which lists the URLs of all documents."""
    pairs = dict.fromkeys((kind.resource.group, kind.resource.version) for kind in registry)
    paths: Document = {}
    for group, version in pairs:
        path = f"apis/{group}/{version}" if group else f"api/{version}"
        kinds = sorted(
            _identity(kind)
            for kind in registry
            if (kind.resource.group, kind.resource.version) == (group, version)
        )
        digest = hashlib.sha256(repr(kinds).encode()).hexdigest()[:32].upper()
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}


def _identity(kind: Kind) -> tuple[Any, ...]:
    """Return a value that changes when the OpenAPI description of a kind may have changed."""
    schema = kind.schema.digest if isinstance(kind.schema, CustomSchema) else __version__
    resource = kind.resource
    paths = resource.namespaced, sorted(kind.subresources), sorted(kind.selectable)
    return resource.plural, resource.kind, kind.list_kind, paths, schema


def document(registry: Registry, group: str, version: str) -> Document | None:
    """Return the document of a group and version, None if it is not served."""
    kinds = [
        kind
        for kind in registry
        if (kind.resource.group, kind.resource.version) == (group, version)
    ]
    if not kinds:
        return None
    schemas: Document = {}
    paths: Document = {}
    for kind in kinds:
        _add_schemas(kind, schemas)
        add_paths(kind, schema_name(kind), paths)
    custom = any(kind.custom for kind in kinds)
    return {
        "openapi": "3.0.0",
        "info": {
            "title": "Kubernetes CRD Swagger" if custom else "Kubernetes",
            "version": "v0.1.0" if custom else "unversioned",
        },
        "paths": paths,
        "components": {"schemas": schemas},
    }


def schema_name(kind: Kind) -> str:
    """Return the name of a kind's schema: `dev.example.oracle.v1.Widget`,
    `io.k8s.api.core.v1.Pod`.
    """
    resource = kind.resource
    if not kind.custom and kind.schema.struct:
        return struct_name(kind.schema.struct)
    reverse = ".".join(reversed(resource.group.split(".")))
    return f"{reverse}.{resource.version}.{resource.kind}"


def struct_name(struct: str) -> str:
    """Return the name of a struct's schema."""
    package, version, name = struct.rsplit(".", 2)
    if package == "meta":
        return f"{META}.{name}"
    if package == "apiextensions":
        return f"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}.{name}"
    return f"io.k8s.api.{package}.{version}.{name}"


def _add_schemas(kind: Kind, schemas: Document) -> None:
    resource, name = kind.resource, schema_name(kind)
    identity = {"group": resource.group, "kind": resource.kind, "version": resource.version}
    if kind.custom:
        schemas[name] = _custom(kind, identity)
        _add_struct("meta.v1.ObjectMeta", schemas)
    elif kind.schema.struct:
        _add_struct(kind.schema.struct, schemas)
        schemas[name] = _add_descriptions(schemas[name], kind)
        schemas[name]["x-kubernetes-group-version-kind"] = [identity]
    if "list" in kind.verbs:
        schemas[f"{name}List"] = _list(kind, name, identity)
    _add_struct("meta.v1.DeleteOptions", schemas)
    _add_struct("meta.v1.Status", schemas)
    schemas.setdefault(f"{META}.ListMeta", _LIST_META)
    schemas.setdefault(f"{META}.Patch", {"type": "object"})
    if "scale" in kind.subresources:
        _add_struct("autoscaling.v1.Scale", schemas)


def _add_descriptions(schema: Document, kind: Kind) -> Document:
    """Return the schema of a built-in kind with descriptions of the kind and its fields."""
    words = {
        **FIELDS,
        "apiVersion": _API_VERSION["description"],
        "kind": _KIND["description"],
        "metadata": _EMBEDDED["metadata"]["description"],
    }
    properties = {
        name: {"description": words[name], **subschema} if name in words else subschema
        for name, subschema in schema["properties"].items()
    }
    result = {"description": KINDS[kind.resource.kind]} if kind.resource.kind in KINDS else {}
    return {**result, **schema, "properties": properties}


_LIST_META: Document = {
    "type": "object",
    "properties": {
        "continue": {"type": "string"},
        "remainingItemCount": {"type": "integer", "format": "int64"},
        "resourceVersion": {"type": "string"},
        "selfLink": {"type": "string"},
    },
}


def _custom(kind: Kind, identity: Document) -> Document:
    assert isinstance(kind.schema, CustomSchema)
    schema: Document = _publish_extensions(kind.schema.openapi)
    meta = {
        "description": f"Standard object's metadata. More info: {_CONVENTIONS}#metadata",
        "allOf": [ref(f"{META}.ObjectMeta")],
    }
    properties = {**(schema.get("properties") or {})}
    schema["type"] = "object"
    schema["properties"] = {
        **properties,
        "apiVersion": _API_VERSION,
        "kind": _KIND,
        "metadata": meta,
    }
    schema["x-kubernetes-group-version-kind"] = [identity]
    return schema | _selectable(kind)


_EMBEDDED: Document = {
    "apiVersion": {
        "description": "apiVersion defines the versioned schema of this representation of an "
        f"object. More info: {_CONVENTIONS}#resources",
        "type": "string",
    },
    "kind": {
        "description": "kind is a string value representing the type of this object. In CamelCase."
        f" More info: {_CONVENTIONS}#types-kinds",
        "type": "string",
    },
    "metadata": {
        "description": f"Standard object's metadata. More info: {_CONVENTIONS}#metadata",
        "allOf": [ref(f"{META}.ObjectMeta")],
    },
}
_EITHER: list[Document] = [{"type": "integer"}, {"type": "string"}]


def _publish_extensions(schema: Any) -> Any:
    """Return the schema of a definition with kubernetes extensions written out."""
    if not isinstance(schema, dict):
        return schema
    result = {**schema}
    if "properties" in schema:
        properties = schema["properties"].items()
        result["properties"] = {key: _publish_extensions(item) for key, item in properties}
    for name in ("items", "additionalProperties"):
        if name in schema:
            result[name] = _publish_extensions(schema[name])
    if schema.get("x-kubernetes-int-or-string") and not (
        schema.get("anyOf") or schema.get("allOf")
    ):
        result["anyOf"] = _EITHER
    if schema.get("x-kubernetes-embedded-resource"):
        result["properties"] = {**(result.get("properties") or {}), **_EMBEDDED}
        others = [
            item for item in schema.get("required") or () if item not in ("kind", "apiVersion")
        ]
        result["required"] = ["kind", "apiVersion", *others]
    return result


def _selectable(kind: Kind) -> Document:
    if not kind.selectable:
        return {}
    return {"x-kubernetes-selectable-fields": [{"fieldPath": item} for item in kind.selectable]}


def _list(kind: Kind, name: str, identity: Document) -> Document:
    meta = {
        "description": f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds",
        "allOf": [ref(f"{META}.ListMeta")],
    }
    return {
        "description": f"{kind.list_kind} is a list of {kind.resource.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": _API_VERSION,
            "items": {
                "description": f"List of {kind.resource.plural}. More info: {_CONVENTIONS}",
                "type": "array",
                "items": ref(name),
            },
            "kind": _KIND,
            "metadata": meta,
        },
        "x-kubernetes-group-version-kind": [{**identity, "kind": kind.list_kind}],
    } | (_selectable(kind) if kind.custom else {})


def _add_struct(struct: str, schemas: Document) -> None:
    """Add the schema of a struct and of all structs that it refers to."""
    name = struct_name(struct)
    if name in schemas:
        return
    properties: Document = {}
    required: list[str] = []
    schemas[name] = {"type": "object", "properties": properties}
    words = WORDS.get(struct, {})
    for field, fact in facts()["structs"].get(struct, {}).items():
        properties[field] = _add_type_fields(fact["t"], schemas) | _merging(fact)
        if field in words:
            properties[field]["description"] = words[field]
        if fact.get("r"):
            required.append(field)
    if required:
        schemas[name]["required"] = required


def _add_type_fields(kind: str, schemas: Document) -> Document:
    if kind.startswith("[]"):
        return {"type": "array", "items": _add_type_fields(kind[2:], schemas)}
    if kind.startswith("{}"):
        return {"type": "object", "additionalProperties": _add_type_fields(kind[2:], schemas)}
    if kind in _LEAVES:
        return dict(_LEAVES[kind])
    _add_struct(kind, schemas)
    return {"allOf": [ref(struct_name(kind))]}


def _merging(fact: Document) -> Document:
    result: Document = {}
    if "lt" in fact:
        result["x-kubernetes-list-type"] = fact["lt"]
    if "lk" in fact:
        result["x-kubernetes-list-map-keys"] = fact["lk"]
    if "ps" in fact:
        result["x-kubernetes-patch-strategy"] = fact["ps"]
    if "mk" in fact:
        result["x-kubernetes-patch-merge-key"] = fact["mk"]
    if "d" in fact:
        result["default"] = fact["d"]
    return result


def encode_document(description: Document) -> bytes:
    """Encode an OpenAPI document as JSON."""
    return msgspec.json.encode(description)
