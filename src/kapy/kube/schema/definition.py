"""Validation of an `openAPIV3Schema` in a CustomResourceDefinition.

The order is kube-apiserver's: structure, then defaults, then forbidden fields. Defaults must be
pruned, valid, and conform to all CEL rules. CEL rules are checked if structure and defaults are
valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from kapy.kube import Document
from kapy.kube.field_errors import FieldError, aggregate, forbidden, invalid, path_text
from kapy.kube.regexp import TooCostly, allowance
from kapy.kube.schema.embedded import embedded_errors, embedded_metadata
from kapy.kube.schema.formats import format_of
from kapy.kube.schema.node import Node, compile_schema
from kapy.kube.schema.openapi_errors import openapi_errors
from kapy.kube.schema.pruning import Pruning
from kapy.kube.schema.rule_walk import RuleWalk
from kapy.kube.schema.rules import ABSENT, RuleChecker
from kapy.kube.schema.schema_text import FIELDS, PLAIN_FIELDS, schema_text
from kapy.kube.schema.strictness import Strictness
from kapy.kube.schema.structure_errors import structure_errors, unreadable
from kapy.kube.schema.traversal import any_schema, items_schema, schemas_below
from kapy.kube.schema.validation import counterparts, validate

MetadataCheck: TypeAlias = Callable[[Any, str], list[FieldError]]
"""A function that returns the errors of an object's metadata at a path."""

_META: Final = ("metadata", "apiVersion", "kind")
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_WHOLE: Final = {"apiVersion": "validation/v1", "kind": "Validation"}


def no_metadata_errors(metadata: Any, path: str) -> list[FieldError]:
    """Return no errors, for schemas whose values are not in an object."""
    del metadata, path
    return []


@dataclass(frozen=True, slots=True)
class DefaultChecks:
    """Options of the validation.

    pruned: defaults may have no unknown fields. rules: compiles CEL rules; None skips them.
    """

    pruned: bool = True
    rules: RuleChecker | None = None
    metadata: MetadataCheck = no_metadata_errors

    def errors(self, schema: Document, path: str, *, root: bool) -> list[FieldError]:
        """Return the errors of all defaults in a structural schema. root: it is a whole object's
        schema.
        """
        if root:
            schema = {**schema, _EMBEDDED: True}
        return list(self._of(schema, _Position(None), path))

    def _of(self, schema: Document, around: _Position, path: str) -> Iterator[FieldError]:
        if schema.get(_EMBEDDED):
            around = _Position(schema)
        default = schema.get("default")
        if default is not None:
            where = f"{path}.default"
            if around.in_meta:
                yield from self._in_meta(schema, default, around, where)
            else:
                yield from self._outside(schema, default, where)
        if (items := items_schema(schema)) is not None:
            yield from self._of(items, around.below(0), f"{path}.items")
        whole = schema is around.whole
        for name, subschema in (schema.get("properties") or {}).items():
            below = around.below(name, in_meta=whole and name in _META)
            yield from self._of(subschema, below, f"{path}.properties[{name}]")

    def _in_meta(
        self, schema: Document, default: Any, around: _Position, path: str
    ) -> Iterator[FieldError]:
        """Validate a default for a part of an object's metadata or type."""
        whole = around.object_with(default)
        result = self.metadata(whole["metadata"], "metadata") if "metadata" in whole else []
        errors: list[FieldError] = []
        embedded_errors(
            compile_schema({**(around.whole or {}), _EMBEDDED: True}, None), whole, "", errors
        )
        if result or errors:
            text = f"must result in valid metadata: {aggregate([*errors, *result])}"
            yield invalid(path, default, text)
            return
        yield from self._values(schema, default, path)

    def _outside(self, schema: Document, default: Any, where: str) -> Iterator[FieldError]:
        node = compile_schema(_by_type(schema), None)
        if self.pruned:
            pruning = Pruning()
            pruning.prune(node, default, "")
            if pruning.unknown or pruning.metadata:
                yield invalid(where, default, "must not have unknown fields")
        errors: list[FieldError] = []
        embedded_errors(node, default, where, errors)
        for path, name, value in embedded_metadata(node, default, where):
            if name == "metadata" and value is not None:
                errors += self.metadata(value, path_text((path, ".metadata")))
        yield from errors or self._values(schema, default, where)

    def _values(self, schema: Document, default: Any, path: str) -> Iterator[FieldError]:
        result: list[FieldError] = []
        validate(
            compile_schema(_by_type(schema), None, any_format=True), default, ABSENT, "", result
        )
        if not result:
            yield from self._rules(schema, default, path)
        for error in result:
            field = error.field.removeprefix(".")
            yield replace(error, field=path if field in ("", "<nil>") else f"{path}.{field}")

    def _rules(self, schema: Document, default: Any, path: str) -> list[FieldError]:
        """Return the errors of CEL rules for a default, with the old default for transition
        rules.
        """
        if self.rules is None:
            return []
        node = compile_schema(schema, self.rules)
        if not node.has_rules:
            return []
        return _rule_violations(node, default, default, path) or _rule_violations(
            node, default, ABSENT, path
        )


def _by_type(schema: Document) -> Document:
    """Return the schema used to validate defaults, in which int-or-string is ignored."""
    if not any_schema(schema, lambda value: bool(value.get(_INT_OR_STRING))):
        return schema
    copy = {key: value for key, value in schema.items() if key != _INT_OR_STRING}
    for name in ("items", "additionalProperties"):
        if isinstance(copy.get(name), dict):
            copy[name] = _by_type(copy[name])
    if copy.get("properties"):
        copy["properties"] = {
            key: _by_type(subschema) for key, subschema in copy["properties"].items()
        }
    return copy


def _rule_violations(node: Node, value: Any, old: Any, path: str) -> list[FieldError]:
    walk = RuleWalk(counterparts, ratcheting=False)
    walk.check(node, value, old, path, (value, ABSENT))
    return walk.findings.errors


@dataclass(frozen=True, slots=True)
class _Position:
    """The position of a schema in the schema of the object.

    whole: the object's schema, None without one. steps: the path to here, 0 for an item. in_meta:
    the path is in its metadata or type.
    """

    whole: Document | None
    steps: tuple[str | int, ...] = ()
    in_meta: bool = False

    def below(self, step: str | int, *, in_meta: bool = False) -> _Position:
        return _Position(self.whole, (*self.steps, step), self.in_meta or in_meta)

    def object_with(self, value: Any) -> Document:
        """Return an object that has only this value at this path."""
        for step in reversed(self.steps):
            value = [value] if step == 0 else {step: value}
        return {**_WHOLE, **value}


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
