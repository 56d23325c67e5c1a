"""Defaulting and validation of variable values by the definitions in a ClusterClass's status.

A value applies to the whole cluster or, as an override, to one part of it. Overrides are never
defaulted into existence, and none is required.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kapy.api.cluster_class_variables import (
    ClusterClassStatusVariable,
    ClusterClassStatusVariableDefinition,
    JSONSchemaProps,
)
from kapy.api.embedded import ClusterVariable
from kapy.api.variable_schema import schema_document
from kapy.kube.field_errors import FieldError, invalid, required
from kapy.kube.go_literals import as_doubles, fit_integers, go_quoted
from kapy.kube.model import encode
from kapy.kube.schema import FieldSchema
from kapy.kube.schema.rules import ABSENT

Definitions = Mapping[str, ClusterClassStatusVariableDefinition]


def default_variables(
    values: Sequence[ClusterVariable],
    variables: Sequence[ClusterClassStatusVariable],
    path: str,
    *,
    create: bool,
) -> tuple[list[ClusterVariable], list[FieldError]]:
    """Return the values with defaults, existing ones first and in their order; or the errors.

    create: add variables that have a default but no value.
    """
    if errors := list(_duplicates(values, path)):
        return [], errors
    definitions, errors = _definitions(variables, path)
    if errors:
        return [], errors
    result = []
    for variable in values:
        if variable.name in definitions:
            schema = _compile(definitions[variable.name])
            value = as_doubles(schema.default(variable.value))
            result.append(ClusterVariable(name=variable.name, value=value))
        else:
            errors.append(_undefined_error(variable, path))
    if create:
        there = {item.name for item in values}
        for name, definition in definitions.items():
            value = ABSENT if name in there else _compile(definition).default()
            if value is not ABSENT:
                result.append(ClusterVariable(name=name, value=as_doubles(value)))
    return ([], errors) if errors else (result, [])


def variable_value_errors(
    values: Sequence[ClusterVariable],
    old: Sequence[ClusterVariable],
    variables: Sequence[ClusterClassStatusVariable],
    path: str,
    *,
    complete: bool,
) -> list[FieldError]:
    """Return the errors in variable values. old: the previous values, for rules about changes.
    complete: whether to report required variables that are missing."""
    if errors := [*_duplicates(values, path)] or [*_duplicates(old, path)]:
        return errors
    definitions, errors = _definitions(variables, path)
    if errors:
        return errors
    if complete:
        there = {item.name for item in values}
        errors += [
            required(path, f"required variable {go_quoted(name)} must be set")
            for name, definition in definitions.items()
            if definition.required and name not in there
        ]
    before = {item.name: item.value for item in old}
    for variable in values:
        if variable.name not in definitions:
            errors.append(_undefined_error(variable, path))
            continue
        was = before.get(variable.name, ABSENT)
        errors += value_errors(
            variable, was, definitions[variable.name].schema.schema, f"{path}[{variable.name}]"
        )
    return errors


def value_errors(
    variable: ClusterVariable, old: Any, schema: JSONSchemaProps, path: str
) -> list[FieldError]:
    """Return the errors in one value. old: its previous value, or ABSENT."""
    checked = _compiled_schema(schema)
    value, where, text = fit_integers(variable.value), f"{path}.value", text_of(variable.value)
    if errors := checked.shape_errors(value, where):
        return [
            FieldError(error.type, error.field, error.detail.removeprefix(" in body "), text)
            for error in errors
        ]
    if unknown := [
        f"variableValue{item}" if item[0] == "[" else item for item in checked.unknown_fields(value)
    ]:
        problem = (
            f'failed validation: "{",".join(unknown)}" field(s) are not specified in the variable '
            f"schema of variable {go_quoted(variable.name)}"
        )
        return [invalid(path, text, problem)]
    return [
        FieldError(error.type, error.field, error.detail, text)
        for error in checked.rule_errors(value, where, ABSENT if old is None else fit_integers(old))
    ]


def text_of(value: Any) -> str:
    """Return a value as error messages quote it."""
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _duplicates(values: Iterable[ClusterVariable], path: str) -> Iterator[FieldError]:
    names: set[str] = set()
    for variable in values:
        if variable.name in names:
            problem = f"variable {go_quoted(variable.name)} is set more than once"
            yield invalid(f"{path}[{variable.name}]", text_of(variable.value), problem)
        names.add(variable.name)


def _undefined_error(variable: ClusterVariable, path: str) -> FieldError:
    where = f"{path}[{variable.name}]"
    return invalid(where, text_of(variable.value), "variable is not defined")


def _definitions(
    variables: Sequence[ClusterClassStatusVariable], path: str
) -> tuple[Definitions, list[FieldError]]:
    """Return the definition of each variable, and an error for each variable with none or with
    several.
    """
    problems = []
    for variable in variables:
        name = go_quoted(variable.name)
        if not variable.definitions:
            problems.append(f"variable {name} has no definitions")
        if variable.definitions_conflict:
            problems.append(f"variable {name} has conflicting definitions")
    problems = list(dict.fromkeys(problems))
    if not problems:
        return {
            status_variable.name: status_variable.definitions[0] for status_variable in variables
        }, []
    result = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
    names = ",".join(f"Name: {status_variable.name}" for status_variable in variables)
    problem = f"variable definitions in the ClusterClass not valid: {result}"
    return {}, [FieldError("FieldValueTypeInvalid", path, problem, f"[{names}]")]


def _compile(definition: ClusterClassStatusVariableDefinition) -> FieldSchema:
    return _compiled_schema(definition.schema.schema)


_SCHEMAS: dict[bytes, FieldSchema] = {}
_MAX_SCHEMAS = 1024


def _compiled_schema(schema: JSONSchemaProps) -> FieldSchema:
    """Compile a schema; cached, because each Cluster of a class uses the same schemas."""
    key = msgspec.json.encode(encode(schema))
    field_schema = _SCHEMAS.get(key)
    if field_schema is None:
        from kapy.kube.cel import rule_checker

        if len(_SCHEMAS) >= _MAX_SCHEMAS:
            _SCHEMAS.clear()
        field_schema = FieldSchema.compile(schema_document(schema), rules=rule_checker)
        _SCHEMAS[key] = field_schema
    return field_schema
