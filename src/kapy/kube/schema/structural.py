"""Compiled structural schemas, of an object or of one field: pruning, defaults, and validation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.field_errors import NO_VALUE, FieldError, FieldErrors, Path, TooManyErrors, invalid
from kapy.kube.regexp import TooCostly, allowance
from kapy.kube.schema.defaulting import DefaultingPass, apply_defaults, complete, without_nulls
from kapy.kube.schema.embedded import embedded_errors, embedded_metadata
from kapy.kube.schema.node import Node, compile_schema
from kapy.kube.schema.pruning import Pruning
from kapy.kube.schema.rule_walk import RuleWalk
from kapy.kube.schema.rules import ABSENT, RuleChecker
from kapy.kube.schema.validation import counterparts, duplicates, validate_changed

_META: Final = ("apiVersion", "kind", "metadata")
_BLOCKING: Final = frozenset(
    (
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    )
)
_NOT_CHECKED: Final = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)

_FIELD: Final = "value"


class Structural:
    """A structural schema, compiled to a tree."""

    def __init__(self, node: Node, *, embeds: bool) -> None:
        self._node = node
        self._embeds = embeds
        self._below = {
            name: subschema for name, subschema in node.properties.items() if name not in _META
        }
        self._keyed = {name: value for name, value in self._below.items() if value.has_list_keys}

    @classmethod
    def compile(cls, schema: Document, *, rules: RuleChecker | None = None) -> Structural:
        """Compile a structural `openAPIV3Schema` document (see `schema.definition`).

        rules: compiles CEL rules; without it they are not checked.
        """
        node = compile_schema(schema, rules, root=True)
        node.embedded = True
        metadata = node.properties.get("metadata")
        if metadata is not None and not metadata.properties:
            node.properties = {
                k: subschema for k, subschema in node.properties.items() if k != "metadata"
            }
        complete(node)
        return cls(node, embeds=_embeds(schema))

    def default(
        self, document: Document, settled: Document | None = None, *, keep_nulls: bool = False
    ) -> Document:
        """Return the document with defaults and without disallowed nulls.

        settled: an earlier result of this schema. Parts that equal its parts become the same
        objects and are skipped here and in later steps. keep_nulls: keep nulls, as for the result
        of a server-side apply (kube-apiserver refuses them later).
        """
        old_values: Any = ABSENT if settled is None else settled
        filling = DefaultingPass(keep_nulls=keep_nulls)
        result: Document = apply_defaults(self._node, document, old_values, filling=filling)
        return result

    def is_settled(self, document: Document, settled: Document) -> bool:
        """Report whether a document is an earlier result except for its metadata, and needs no
        defaulting or pruning.

        (Nulls are checked again, and a document equal to the earlier result is to become that
        object.)
        """
        if document.get("metadata") == settled.get("metadata"):
            return False
        for name, value in document.items():
            if name != "metadata" and (value is None or settled.get(name) is not value):
                return False
        names = document.keys()
        return self._node.defaults.keys() <= names and settled.keys() <= names

    def without_nulls(self, document: Document) -> Document:
        """Return the document without nulls that are not allowed and have no default."""
        result: Document = without_nulls(self._node, document)
        return result

    def prune(
        self, document: Document, settled: Document | None = None
    ) -> tuple[Document, list[str]]:
        """Return the document without unknown fields, and the sorted paths of the pruned fields.

        Paths look like `spec.foo` or `spec.items[0].bar`; those in metadata of embedded objects
        come last. The document's own `metadata` is not pruned. settled: as for `default`.
        """
        pruning = Pruning()
        old_values = {} if settled is None else settled
        bare = {**document, "metadata": None}
        result: Document = pruning.prune(self._node, bare, "", old_values)
        dropped = [*sorted(pruning.unknown), *sorted(pruning.metadata)]
        if result is bare:
            return document, dropped
        if "metadata" in document:
            result["metadata"] = document["metadata"]
        else:
            del result["metadata"]
        return result, dropped

    def embedded_metadata(self, document: Document) -> Iterable[tuple[Path, str, Any]]:
        """Yield the type and metadata of all embedded objects, see `embedded.embedded_metadata`."""
        return self._embedded_objects(document) if self._embeds else ()

    def _embedded_objects(self, document: Document) -> Iterator[tuple[Path, str, Any]]:
        for name, node in self._below.items():
            yield from embedded_metadata(node, document.get(name), name)

    def validate(
        self,
        new: Document,
        old: Document | None = None,
        warnings: list[str] | None = None,
        other_errors: Iterable[FieldError] = (),
    ) -> list[FieldError]:
        """Return the errors of `new`. With `old`, errors of unchanged values are accepted
        (ratcheting).

        warnings: receives messages of accepted rule violations. other_errors: other errors of
        `new`.
        """
        try:
            with allowance():
                return self._validate(new, old, warnings, other_errors)
        except TooCostly as error:
            return [_too_costly(error)]

    def _validate(
        self,
        new: Document,
        old: Document | None,
        warnings: list[str] | None,
        other_errors: Iterable[FieldError],
    ) -> list[FieldError]:
        errors: list[FieldError] = FieldErrors()
        before: Any = ABSENT if old is None else old
        validate_changed(self._node, new, before, "", errors)
        if self._embeds:
            for name, node in self._below.items():
                embedded_errors(node, new.get(name), name, errors)
        if self._node.has_list_keys and (repeated := self._duplicates(new, old)):
            errors += repeated
        if self._node.has_rules:
            if any(error.type in _BLOCKING for error in (*other_errors, *errors)):
                errors.append(invalid("<nil>", None, _NOT_CHECKED))
            else:
                walk = RuleWalk(counterparts)
                walk.check(self._node, new, before, "", (new, before))
                errors += walk.findings.errors
                if warnings is not None:
                    warnings.extend(map(str, walk.findings.warnings))
        return errors

    def _duplicates(self, new: Document, old: Document | None) -> list[FieldError]:
        """Return errors for duplicate list items; accepted if the old object had some."""
        result: list[FieldError] = FieldErrors()
        for name, node in self._keyed.items():
            inner = new.get(name)
            if old is None or inner is not old.get(name):
                duplicates(node, inner, name, result)
        if not result or old is None:
            return result
        before: list[FieldError] = FieldErrors()
        with contextlib.suppress(TooManyErrors):
            duplicates(self._node, old, "", before)
        return [] if before else result


def _too_costly(error: TooCostly) -> FieldError:
    """Return the error that the validation of a value would take too long."""
    return FieldError("FieldValueInvalid", "<nil>", f"it cannot be checked: {error}", NO_VALUE)


def _embeds(schema: Any) -> bool:
    """Report whether the schema has embedded objects."""
    if isinstance(schema, dict):
        return bool(schema.get("x-kubernetes-embedded-resource")) or any(
            _embeds(value) for value in schema.values() if isinstance(value, (dict, list))
        )
    return isinstance(schema, list) and any(map(_embeds, schema))


class FieldSchema:
    """The compiled structural schema of one field."""

    def __init__(self, around: Node) -> None:
        self._around = around
        self._node = around.properties[_FIELD]

    @classmethod
    def compile(cls, schema: Document, *, rules: RuleChecker | None = None) -> FieldSchema:
        """Compile a structural schema. rules: compiles CEL rules; without it they are not
        checked.
        """
        node = compile_schema({"type": "object", "properties": {_FIELD: schema}}, rules)
        complete(node)
        return cls(node)

    def default(self, value: Any = ABSENT) -> Any:
        """Return the value with defaults; ABSENT if there is neither.

        Nulls without a default stay.
        """
        document = {} if value is ABSENT else {_FIELD: value}
        return apply_defaults(self._around, document, filling=DefaultingPass(keep_nulls=True)).get(
            _FIELD, ABSENT
        )

    def unknown_fields(self, value: Any) -> list[str]:
        """Return the sorted paths of unknown fields in a value."""
        pruning = Pruning()
        pruning.prune(self._node, value, "")
        return sorted(pruning.unknown)

    def shape_errors(self, value: Any, path: str) -> list[FieldError]:
        """Return the errors of a value at `path`, except those of CEL rules."""
        errors: list[FieldError] = []
        try:
            with allowance():
                validate_changed(self._node, value, ABSENT, "", errors)
        except TooCostly as error:
            errors = [_too_costly(error)]
        return [
            replace(field_error, field=_below(path, field_error.field)) for field_error in errors
        ]

    def rule_errors(self, value: Any, path: str, old: Any = ABSENT) -> list[FieldError]:
        """Return the errors of CEL rules. old: the old value, for transition rules."""
        if not self._node.has_rules:
            return []
        walk = RuleWalk(counterparts, ratcheting=False)
        walk.check(self._node, value, old, "", (value, ABSENT))
        return [replace(error, field=_within(path, error.field)) for error in walk.findings.errors]

    def validate(self, value: Any, path: str, old: Any = ABSENT) -> list[FieldError]:
        """Validate a value at `path`; CEL rules run only if there is no other error."""
        with allowance():
            return self.shape_errors(value, path) or self.rule_errors(value, path, old)


def _below(path: str, field: str) -> str:
    """Join paths like kube-apiserver, with a dot even before list items."""
    return path if field in ("", "<nil>") else f"{path}.{field.removeprefix('.')}"


def _within(path: str, field: str) -> str:
    return path + field if field.startswith("[") else _below(path, field)
