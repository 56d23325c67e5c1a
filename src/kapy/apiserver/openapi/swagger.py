"""OpenAPI v2 ("Swagger"): all groups and versions in one document.

It is derived from OpenAPI v3. As in kube-apiserver, what v2 cannot express (alternatives, nullable
values) is left out, so that clients do not validate such values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kapy.apiserver.openapi.documents import document
from kapy.apiserver.resources.registry import Registry
from kapy.kube import Document

_V3_SCHEMAS: Final = "#/components/schemas/"
_DEFINITIONS: Final = "#/definitions/"
_UNKNOWN_TO_V2: Final = frozenset({"anyOf", "oneOf", "not", "nullable"})
_METHODS: Final = ("get", "put", "post", "delete", "patch")


def swagger(registry: Registry) -> Document:
    """Return the whole OpenAPI v2 document."""
    paths: Document = {}
    definitions: Document = {}
    for group, version in dict.fromkeys(
        (kind.resource.group, kind.resource.version) for kind in registry
    ):
        described = document(registry, group, version)
        assert described is not None
        paths |= {path: _path(item) for path, item in described["paths"].items()}
        for name, schema in described["components"]["schemas"].items():
            # Shared types occur in several documents with the same definition.
            if name not in definitions:
                definitions[name] = _schema(schema)
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": dict(sorted(paths.items())),
        "definitions": dict(sorted(definitions.items())),
    }


def _path(item: Document) -> Document:
    result: Document = {method: _operation(item[method]) for method in _METHODS if method in item}
    result["parameters"] = [_parameter(parameter) for parameter in item.get("parameters", ())]
    return result


def _operation(operation: Document) -> Document:
    body = operation.get("requestBody")
    parameters = [_parameter(parameter) for parameter in operation["parameters"]]
    if body is not None:
        parameters.insert(0, _body(body))
    return {
        **{key: value for key, value in operation.items() if key != "requestBody"},
        "consumes": list(body["content"]) if body is not None else ["*/*"],
        "produces": ["application/json", "application/yaml"],
        "schemes": ["https"],
        "parameters": parameters,
        "responses": {
            code: _response(response) for code, response in operation["responses"].items()
        },
    }


def _parameter(parameter: Document) -> Document:
    """Convert a path or query parameter: v2 has the type beside the name."""
    schema: Document = parameter["schema"]
    return {key: value for key, value in parameter.items() if key != "schema"} | schema


def _body(body: Document) -> Document:
    result = {"in": "body", "name": "body", "schema": _content(body)}
    return result | ({"required": True} if body.get("required") else {})


def _response(response: Document) -> Document:
    result = {"description": response["description"]}
    return result | ({"schema": _content(response)} if "content" in response else {})


def _content(of: Document) -> Any:
    return _schema(next(iter(of["content"].values()))["schema"])


def _schema(schema: Any) -> Any:
    """Convert a schema to v2."""
    if not isinstance(schema, dict):
        return schema
    members = dict(_members(schema))
    if schema.get("nullable") or schema.get("x-kubernetes-preserve-unknown-fields"):
        # v2 forbids null and unknown fields, so the type is left out.
        for key in ("type", "items", "properties"):
            members.pop(key, None)
    if "oneOf" in schema:
        members["type"] = "string"  # an int-or-string or quantity: a string covers all values
    return members


def _members(schema: Document) -> Iterator[tuple[str, Any]]:
    for key, value in schema.items():
        if key in _UNKNOWN_TO_V2:
            continue
        if key == "$ref":
            yield key, value.replace(_V3_SCHEMAS, _DEFINITIONS)
        elif key == "allOf" and len(value) == 1 and set(value[0]) == {"$ref"}:
            # v3 wraps a reference to add a description, v2 does not.
            yield "$ref", value[0]["$ref"].replace(_V3_SCHEMAS, _DEFINITIONS)
        elif key == "allOf":
            yield key, [_schema(item) for item in value]
        elif key == "properties":
            yield key, {name: _schema(item) for name, item in value.items()}
        elif key in ("items", "additionalProperties"):
            yield key, _schema(value)
        else:
            yield key, value
