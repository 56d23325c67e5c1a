"""The variables that a ClusterClass defines: their names, metadata and schemas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from kapy.api.cluster_class_variables import ClusterClassVariable, JSONSchemaProps
from kapy.api.validation.metadata import metadata_errors
from kapy.api.variable_schema import schema_document
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, forbidden, invalid, not_supported, required
from kapy.kube.go_literals import go_quoted
from kapy.kube.regexp import cost
from kapy.kube.schema import FieldSchema, RuleChecker, field_schema_errors, has_rules
from kapy.kube.schema.definition import TOO_LARGE
from kapy.kube.schema.strictness import TYPES
from kapy.kube.text_cache import text_cache

BUILTIN: Final = "builtin"
"""The variable that is there without being defined."""

_ONE: Final = ("additionalProperties", "items", "not")
_MANY: Final = ("allOf", "oneOf", "anyOf")
_RULES: Final = "x-kubernetes-validations"
_NO_TYPE: Final = (
    "internal error: failed to construct type information for x-kubernetes-validations rules: "
    "unable to convert structural schema to CEL declarations"
)
_COUNTED: Final = "rule & messageExpression"
_EXCLUSIVE: Final = "additionalProperties and properties are mutually exclusive"


def variable_errors(
    variables: Sequence[ClusterClassVariable], path: str = "spec.variables"
) -> list[FieldError]:
    """Return the errors of the definitions of variables."""
    result = list(_duplicate_errors(variables, path))
    with cost.allowance():
        try:
            for variable in variables:
                result += _definition_errors(variable, f"{path}[{variable.name}]")
        except cost.TooCostly:
            result.append(forbidden(path, TOO_LARGE))
    return result


def _duplicate_errors(variables: Sequence[ClusterClassVariable], path: str) -> Iterator[FieldError]:
    names: set[str] = set()
    for variable in variables:
        if variable.name in names:
            problem = (
                f"variable name must be unique. Variable with name {go_quoted(variable.name)} is "
                "defined more than once"
            )
            yield invalid(f"{path}[{variable.name}].name", variable.name, problem)
        names.add(variable.name)


def _definition_errors(variable: ClusterClassVariable, path: str) -> Iterator[FieldError]:
    yield from _name_errors(variable.name, f"{path}.name")
    noted = variable.deprecated_v1beta1_metadata
    where = f"{path}.deprecatedV1Beta1Metadata"
    yield from metadata_errors(noted.labels, noted.annotations, where)
    schema, where = variable.schema.schema, f"{path}.schema.openAPIV3Schema"
    yield from _metadata_errors(schema, where)
    yield from _schema_errors(schema, where)


def _name_errors(name: str, where: str) -> Iterator[FieldError]:
    if not name:
        yield required(where, "variable name must be defined")
    if name == BUILTIN:
        yield invalid(where, name, f'"{BUILTIN}" is a reserved variable name')
    if "." in name:
        yield invalid(where, name, 'variable name cannot contain "."')


def _metadata_errors(schema: JSONSchemaProps, path: str) -> Iterator[FieldError]:
    noted = schema.metadata
    yield from metadata_errors(noted.labels, noted.annotations, f"{path}.x-metadata")
    if schema.additional_properties is not None:
        yield from _metadata_errors(schema.additional_properties, f"{path}.additionalProperties")
    for name, subschema in schema.properties.items():
        yield from _metadata_errors(subschema, f"{path}.properties[{name}]")
    if schema.items is not None:
        yield from _metadata_errors(schema.items, f"{path}.items")


def _schema_errors(schema: JSONSchemaProps, path: str) -> Sequence[FieldError]:
    """Return the first group of errors: of the structure, then of values, then of rules."""
    return _known_errors(msgspec.json.encode(schema_document(schema)), path)


@text_cache(1024, max_length=16_384)
def _known_errors(schema: bytes, path: str) -> Sequence[FieldError]:
    """Return the errors of a schema given as JSON, cached: a class is validated again and again
    with the same schemas. Raises TooCostly."""
    document: Document = msgspec.json.decode(schema)
    errors = field_schema_errors(_as_structural(document), path)
    errors = errors or list(_type_errors(document, path))
    errors = errors or list(_value_errors(document, path, rules=None))
    if not errors and has_rules(document):
        from kapy.kube.cel import rule_checker

        errors = list(_default_errors(document, path, rules=rule_checker))
        errors = errors or _rule_errors(document, path)
        errors = errors or list(_value_errors(document, path, rules=rule_checker))
    cost.current().charge(0)  # raises TooCostly: an incomplete result must not be cached
    return errors


def _rule_errors(document: Document, path: str) -> list[FieldError]:
    """Return the errors of the rules. A list may have rules for its items only, because upstream
    compiles a variable like a whole object and then does not know the type of the items.
    """
    from kapy.kube.cel import rule_errors, rule_text_errors

    kind = document.get("type")
    if kind != "array" or _RULES not in document:
        return rule_errors(document, path, root=kind == "object", counted=_COUNTED)
    errors = rule_text_errors(document, path)
    wrong = [error.field for error in errors]
    return [
        *errors,
        *(
            FieldError("InternalError", f"{place}.{_RULES}", _NO_TYPE)
            for place in _places_of_rules(document, path)
            if not any(field.startswith(f"{place}.") for field in wrong)
        ),
    ]


def _places_of_rules(schema: Document, path: str) -> Iterator[str]:
    if _RULES in schema:
        yield path
    for where, inner in _within(schema, path):
        yield from _places_of_rules(inner, where)


def _value_errors(
    schema: Document, path: str, *, rules: RuleChecker | None
) -> Iterator[FieldError]:
    """Yield the errors of examples and of the values to choose from."""
    values: list[tuple[str, Any]] = [("example", schema["example"])] if "example" in schema else []
    values += [(f"enum[{at}]", value) for at, value in enumerate(schema.get("enum") or ())]
    checked = FieldSchema.compile(schema, rules=rules) if values else None
    for key, value in values:
        if checked is not None:
            yield from checked.validate(value, f"{path}.{key}")
    if schema.get("properties") and schema.get("additionalProperties") and rules is None:
        yield forbidden(path, _EXCLUSIVE)
    for where, inner in _within(schema, path):
        yield from _value_errors(inner, where, rules=rules)


def _default_errors(schema: Document, path: str, *, rules: RuleChecker) -> Iterator[FieldError]:
    """Yield the errors of defaults. A rule that does not compile is an error of a default first:
    upstream validates defaults before it looks at the rules.
    """
    if "default" in schema:
        checked = FieldSchema.compile(schema, rules=rules)
        yield from checked.validate(schema["default"], f"{path}.default")
    for where, inner in _within(schema, path):
        yield from _default_errors(inner, where, rules=rules)


def _type_errors(schema: Document, path: str) -> Iterator[FieldError]:
    """Types that there are not. The CRD says so of what users write; extensions may tell any."""
    kind = schema.get("type")
    if kind and kind not in TYPES:
        yield not_supported(f"{path}.type", kind, list(TYPES))
        return
    for where, inner in _within(schema, path):
        yield from _type_errors(inner, where)


def _within(schema: Document, path: str) -> Iterator[tuple[str, Document]]:
    """Yield the schemas directly below a schema, with their paths."""
    for name, subschema in (schema.get("properties") or {}).items():
        yield f"{path}.properties[{name}]", subschema
    for key in _ONE:
        if key in schema:
            yield f"{path}.{key}", schema[key]
    for key in _MANY:
        for number, item in enumerate(schema.get(key) or ()):
            yield f"{path}.{key}[{number}]", item


def _as_structural(schema: Document) -> Document:
    """Return the schema without the fields that a variable may have and a CRD may not."""
    schema_copy = {key: value for key, value in schema.items() if key != "uniqueItems"}
    if schema_copy.get("properties"):
        schema_copy.pop("additionalProperties", None)
        schema_copy["properties"] = {
            name: _as_structural(subschema) for name, subschema in schema_copy["properties"].items()
        }
    for key in _ONE:
        if key in schema_copy:
            schema_copy[key] = _as_structural(schema_copy[key])
    for key in _MANY:
        if key in schema_copy:
            schema_copy[key] = [_as_structural(item) for item in schema_copy[key]]
    return schema_copy
