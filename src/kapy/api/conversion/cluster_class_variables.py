"""The variables of a ClusterClass in v1beta1, where flags could not be told from their absence."""

from __future__ import annotations

from typing import Any, Final

from kapy.api.conversion.moves import bool_to_pointer, put, value_at
from kapy.api.conversion.spoke import CannotConvert
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


def variables_to_hub(variables: list[Any], remembered: list[Any]) -> None:
    """The variables of the specification."""
    before = _first(remembered, "name")
    sources = _first(variables, "name")
    for number, variable in enumerate(variables):
        name = variable.get("name", "")
        _definition_to_hub(variable, sources[name], before.get(name), f"spec.variables[{number}]")


def status_variables_to_hub(variables: list[Any], remembered: list[Any]) -> None:
    """The variables of the status, each with its definitions."""
    before = _first(remembered, "name")
    sources = _first(variables, "name")
    for number, variable in enumerate(variables):
        name, key = variable.get("name", ""), "definitionsConflict"
        source, old = sources[name], before.get(name)
        put(variable, key, bool_to_pointer(source.get(key), value_at(old, key)))
        if variable.get("definitions") is None:
            variable.pop("definitions", None)
        said = _last(source.get("definitions") or [])
        known = _last(value_at(old, "definitions") or [])
        for place, definition in enumerate(variable.get("definitions") or []):
            from_ = definition.get("from", "")
            path = f"status.variables[{number}].definitions[{place}]"
            if from_ not in said:
                raise CannotConvert(path, f"another variable {name} does not come from {from_}")
            _definition_to_hub(definition, said[from_], known.get(from_), path)


def variables_from_hub(variables: list[Any]) -> None:
    """Variables of the specification, or definitions of one of the status."""
    for variable in variables:
        put(variable, "metadata", variable.pop("deprecatedV1Beta1Metadata", None))


def _definition_to_hub(
    definition: Document, source: Document, remembered: Document | None, path: str
) -> None:
    if "metadata" in definition:
        definition["deprecatedV1Beta1Metadata"] = definition.pop("metadata")
    _flags_to_hub(
        definition["schema"]["openAPIV3Schema"],
        source["schema"]["openAPIV3Schema"],
        value_at(remembered, *_SCHEMA),
        path,
    )


def _flags_to_hub(
    schema: Document, source: Document, remembered: Document | None, path: str
) -> None:
    """Flags of a schema and those within it, as `source` says them. That is the schema itself,
    unless a variable of the same name comes before: upstream finds variables by their names."""
    for flag in FLAGS:
        put(schema, flag, bool_to_pointer(source.get(flag), value_at(remembered, flag)))
    for name, inner in (schema.get("properties") or {}).items():
        said = value_at(source, "properties", name)
        _inner_to_hub(inner, said, value_at(remembered, "properties", name), f"{path}.{name}")
    for key in ONE_SCHEMA:
        if (said := source.get(key)) is not None:
            _inner_to_hub(schema.get(key), said, value_at(remembered, key), f"{path}.{key}")
    for key in SEVERAL_SCHEMAS:
        before = value_at(remembered, key) or []
        for number, inner in enumerate(schema.get(key) or ()):
            said = _at(source.get(key) or [], number)
            here = f"{path}.{key}[{number}]"
            _inner_to_hub(inner, said, _at(before, number), here)


def _inner_to_hub(inner: Any, source: Any, remembered: Any, path: str) -> None:
    if inner is None or source is None:
        raise CannotConvert(path, "two variables of one name have different schemas")
    _flags_to_hub(inner, source, remembered, path)


def _first(named: list[Any], key: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in named:
        found.setdefault(one.get(key, ""), one)
    return found


def _last(definitions: list[Any]) -> dict[str, Any]:
    return {one.get("from", ""): one for one in definitions}


def _at(items: list[Any], number: int) -> Any:
    return items[number] if number < len(items) else None
