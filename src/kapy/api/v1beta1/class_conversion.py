"""Flags of variables and patches of a ClusterClass: v1beta1 could not tell false from absent."""

from __future__ import annotations

from typing import Any, Final

from kapy.api.older.difference import CannotConvert
from kapy.api.older.documents import bool_to_pointer, put, value_at
from kapy.kube import Document

FLAGS: Final = (
    "uniqueItems",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-int-or-string",
)
ONE_SCHEMA: Final = ("additionalProperties", "items", "not")
SEVERAL_SCHEMAS: Final = ("allOf", "oneOf", "anyOf")
_SCHEMA: Final = ("schema", "openAPIV3Schema")


def upgrade_variables(variables: list[Any], remembered: list[Any]) -> None:
    """Convert the flags in the variables of the specification."""
    before = _first(remembered, "name")
    sources = _first(variables, "name")
    for number, variable in enumerate(variables):
        name = variable.get("name", "")
        _upgrade_definition(variable, sources[name], before.get(name), f"spec.variables[{number}]")


def upgrade_status_variables(variables: list[Any], remembered: list[Any]) -> None:
    """Convert the flags in the variables of the status and in their definitions."""
    before = _first(remembered, "name")
    sources = _first(variables, "name")
    for number, variable in enumerate(variables):
        name, key = variable.get("name", ""), "definitionsConflict"
        source, old = sources[name], before.get(name)
        put(variable, key, bool_to_pointer(source.get(key), value_at(old, key)))
        if variable.get("definitions") is None:
            variable.pop("definitions", None)
        result = _last(source.get("definitions") or [])
        definitions = _last(value_at(old, "definitions") or [])
        for place, definition in enumerate(variable.get("definitions") or []):
            from_ = definition.get("from", "")
            path = f"status.variables[{number}].definitions[{place}]"
            if from_ not in result:
                raise CannotConvert(path, f"another variable {name} does not come from {from_}")
            _upgrade_definition(definition, result[from_], definitions.get(from_), path)


def _upgrade_definition(
    definition: Document, source: Document, remembered: Document | None, path: str
) -> None:
    _upgrade_flags(
        definition["schema"]["openAPIV3Schema"],
        source["schema"]["openAPIV3Schema"],
        value_at(remembered, *_SCHEMA),
        path,
    )


def _upgrade_flags(
    schema: Document, source: Document, remembered: Document | None, path: str
) -> None:
    """Convert the flags of a schema and of all schemas in it.

    source: the schema from which flags are read. It is the schema itself, or that of an earlier
    variable of the same name, since upstream looks up variables by name.
    """
    for flag in FLAGS:
        put(schema, flag, bool_to_pointer(source.get(flag), value_at(remembered, flag)))
    for name, inner in (schema.get("properties") or {}).items():
        result = value_at(source, "properties", name)
        _upgrade_inner(inner, result, value_at(remembered, "properties", name), f"{path}.{name}")
    for key in ONE_SCHEMA:
        if (result := source.get(key)) is not None:
            _upgrade_inner(schema.get(key), result, value_at(remembered, key), f"{path}.{key}")
    for key in SEVERAL_SCHEMAS:
        before = value_at(remembered, key) or []
        for number, inner in enumerate(schema.get(key) or ()):
            result = _at(source.get(key) or [], number)
            here = f"{path}.{key}[{number}]"
            _upgrade_inner(inner, result, _at(before, number), here)


def _upgrade_inner(inner: Any, source: Any, remembered: Any, path: str) -> None:
    if inner is None or source is None:
        raise CannotConvert(path, "two variables of one name have different schemas")
    _upgrade_flags(inner, source, remembered, path)


def _first(named: list[Any], key: str) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for item in named:
        result.setdefault(item.get(key, ""), item)
    return result


def _last(definitions: list[Any]) -> dict[str, Any]:
    return {definition.get("from", ""): definition for definition in definitions}


def _at(items: list[Any], number: int) -> Any:
    return items[number] if number < len(items) else None


def upgrade_patches(patches: list[Any], remembered: list[Any]) -> None:
    before: dict[str, list[Any]] = {}
    for item in remembered:
        before.setdefault(item.get("name", ""), item.get("definitions") or [])
    sources: dict[str, list[Any]] = {}
    for patch in patches:
        definitions = patch.get("definitions") or []
        name = patch.get("name", "")
        source = sources.setdefault(name, definitions)
        _upgrade_matches(definitions, source, before.get(name) or [])
        for definition in definitions:
            if definition.get("jsonPatches") is None:
                definition.pop("jsonPatches", None)


def _upgrade_matches(
    definitions: list[Document], source: list[Document], remembered: list[Document]
) -> None:
    """Convert the flags of the selectors of patches.

    source: the definitions from which flags are read. As in upstream, they are those of the first
    patch of the same name, if the numbers of definitions are equal.
    """
    for number, definition in enumerate(definitions):
        matches = definition["selector"]["matchResources"]
        result, before = (
            value_at(item[number], "selector", "matchResources")
            if len(item) == len(definitions)
            else None
            for item in (source, remembered)
        )
        for name in ("controlPlane", "infrastructureCluster"):
            put(matches, name, bool_to_pointer(value_at(result, name), value_at(before, name)))
