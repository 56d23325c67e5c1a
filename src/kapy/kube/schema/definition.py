"""Validation of an `openAPIV3Schema` in a CustomResourceDefinition.

The order is kube-apiserver's: structure, then defaults, then forbidden fields. CEL rules are
checked if structure and defaults are valid.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.field_errors import FieldError, forbidden, invalid
from kapy.kube.regexp import TooCostly, allowance
from kapy.kube.schema.default_errors import DefaultChecks, MetadataCheck, no_metadata_errors
from kapy.kube.schema.formats import format_of
from kapy.kube.schema.openapi_errors import openapi_errors
from kapy.kube.schema.rules import RuleChecker
from kapy.kube.schema.schema_text import FIELDS, PLAIN_FIELDS, schema_text
from kapy.kube.schema.strictness import Strictness
from kapy.kube.schema.structure_errors import structure_errors, unreadable
from kapy.kube.schema.traversal import any_schema, schemas_below

_AT_ROOT: Final = (
    "Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum",
    "ExclusiveMinimum", "MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems",
    "MultipleOf", "Required", "Items", "Properties", "ExternalDocs", "Example",
    "XPreserveUnknownFields", "XValidations",
)  # fmt: skip
"""The only root fields allowed with a status subresource, by Go's names."""


TOO_LARGE: Final = (
    "its patterns and rules are too large to be checked: make them fewer, shorter or simpler"
)


@dataclass(slots=True)
class SchemaFindings:
    """The result of a schema validation without CEL rules.

    unread: the error that the schema cannot be read as a structural one, which counts only if there
    is no other error. sound: structure and defaults are valid, so that rules can be checked.
    flawed: paths with errors that do not concern the structure; rules there and around are skipped.
    """

    errors: list[FieldError] = field(default_factory=list)
    unread: list[FieldError] = field(default_factory=list)
    sound: bool = False
    flawed: list[str] = field(default_factory=list)


def validate_schema(
    schema: Document,
    path: str,
    *,
    status: bool = False,
    demands: Strictness | None = None,
    rules: RuleChecker | None = None,
    metadata: MetadataCheck = no_metadata_errors,
) -> SchemaFindings:
    """Validate the schema of one version, except its CEL rules, with kube-apiserver's messages.

    path: the schema's path (`spec.versions[0].schema.openAPIV3Schema`). status: the version has a
    status subresource. rules: compiles rules, to validate defaults by them. metadata: validates the
    metadata of embedded objects in defaults.
    """
    with allowance():
        try:
            return _validate_schema(
                schema, path, demands or Strictness(), rules, metadata, status=status
            )
        except TooCostly:
            return SchemaFindings([forbidden(path, TOO_LARGE)])


def _validate_schema(
    schema: Document,
    path: str,
    strictness: Strictness,
    rules: RuleChecker | None,
    metadata: MetadataCheck,
    *,
    status: bool,
) -> SchemaFindings:
    findings = SchemaFindings(list(_root_errors(schema, path, status=status)))
    if strictness.structural:
        checks = DefaultChecks(strictness.pruned_defaults, rules, metadata)
        if problem := unreadable(schema):
            findings.unread.append(invalid(path, "", problem))
        else:
            errors = structure_errors(schema, path) or checks.errors(schema, path, root=True)
            findings.sound = not errors
            findings.errors += errors
    others = openapi_errors(schema, path, strictness)
    findings.errors += others
    findings.flawed = [field_error.field for field_error in others]
    return findings


def schema_errors(schema: Document, path: str, *, status: bool = False) -> list[FieldError]:
    """Return the errors of one version's schema, except those of CEL rules."""
    schema_findings = validate_schema(schema, path, status=status)
    return schema_findings.errors or schema_findings.unread


def field_schema_errors(schema: Document, path: str) -> list[FieldError]:
    """Return the errors of a single field's schema at `path`; its values need not be objects.

    Raises TooCostly if the validation takes too long.
    """
    with allowance():
        errors = structure_errors(schema, path, "field")
        return errors or DefaultChecks().errors(schema, path, root=False)


def _root_errors(schema: Document, path: str, *, status: bool) -> Iterator[FieldError]:
    if status:
        yield from _root_with_status_errors(schema, path)
    if schema.get("nullable"):
        yield forbidden(f"{path}.nullable", "nullable cannot be true at the root")


def _root_with_status_errors(schema: Document, path: str) -> Iterator[FieldError]:
    """Return an error for the first root field that is forbidden beside a status subresource."""
    for name, item in FIELDS:
        if not _is_set(schema, name):
            continue
        if item == "Type" and schema["type"] != "object":
            text = (
                'only "object" is allowed as the type at the root of the schema if the status '
                "subresource is enabled"
            )
            yield invalid(f"{path}.type", schema["type"], text)
            return
        if item not in _AT_ROOT:
            text = (
                f"only [{' '.join(_AT_ROOT)}] fields are allowed at the root of the schema if the "
                "status subresource is enabled"
            )
            yield invalid(path, schema_text(schema), text)
            return


def _is_set(schema: Document, name: str) -> bool:
    value = schema.get(name)
    return bool(value) if name in PLAIN_FIELDS else value is not None


def has_rules(schema: Document) -> bool:
    """Report whether any node of the schema has CEL rules."""
    return any_schema(schema, lambda value: bool(value.get("x-kubernetes-validations")))


def unknown_formats(schema: Any) -> list[str]:
    """Return the formats that the server does not validate, each once."""
    result: dict[str, None] = {}
    _collect_formats(schema, result)
    return list(result)


def _collect_formats(schema: Document, formats: dict[str, None]) -> None:
    form = schema.get("format")
    if form and not _is_known(form, schema.get("type") or ""):
        formats[form] = None
    for item in schemas_below(schema):
        _collect_formats(item, formats)


_NUMBERS: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}


def _is_known(form: str, kind: str) -> bool:
    if kind in ("", "string"):
        return format_of(form) is not None
    return form in _NUMBERS.get(kind, ())
