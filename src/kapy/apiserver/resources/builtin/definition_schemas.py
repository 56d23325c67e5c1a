"""Validated schemas of CustomResourceDefinitions, cached per process.

Validation takes milliseconds, and the same schemas are validated repeatedly: by in-memory planes,
by tests, and when a client creates a definition and then writes its status.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final, TypeAlias

import msgspec

from kapy.apiserver.resources.metadata import embedded_metadata_errors
from kapy.kube import Document
from kapy.kube.field_errors import FieldError
from kapy.kube.schema import RuleChecker, Strictness, has_rules, unknown_formats, validate_schema

_MOST: Final = 4096
SoundSchemas: TypeAlias = dict[bytes, tuple[str, ...]]
"""The unknown formats of valid schemas, by the schema's digest."""

_sound: Final[SoundSchemas] = {}


def accept_sound_schemas(schemas: SoundSchemas) -> None:
    """Accept schemas that were validated before; the caller vouches for their digests."""
    _sound.update(schemas)


def sound_schemas() -> SoundSchemas:
    """Return the schemas that this process has found valid or accepted."""
    return dict(_sound)


def forget_sound_schemas() -> None:
    """Validate all schemas anew from now on."""
    _sound.clear()


def schema_errors(
    schema: Document, path: str, demands: Strictness, *, status: bool
) -> list[FieldError]:
    """Return the errors of the schema at `path`.

    status: its version has a status subresource.
    """
    digest = _digest(schema, status=status)
    if digest in _sound:
        return []
    rules = _rule_checker(schema)
    schema_findings = validate_schema(
        schema,
        path,
        status=status,
        demands=demands,
        rules=rules,
        metadata=embedded_metadata_errors,
    )
    errors = list(schema_findings.errors)
    if rules is not None and schema_findings.sound:
        from kapy.kube.cel import definition_rule_errors

        cheap = demands.cheap_rules
        errors += definition_rule_errors(schema, path, flawed=schema_findings.flawed, cheap=cheap)
    errors = errors or schema_findings.unread
    if not errors and demands.cheap_rules:
        if len(_sound) >= _MOST:
            _sound.clear()
        _sound[digest] = tuple(unknown_formats(schema))
    return errors


def _rule_checker(schema: Document) -> RuleChecker | None:
    if not has_rules(schema):
        return None
    from kapy.kube.cel import rule_checker

    return rule_checker


def is_structural(schema: Document) -> bool:
    """Report whether a schema is structural."""
    return _is_known(schema) or validate_schema(schema, "", demands=_ONLY_STRUCTURE).sound


def has_pruned_defaults(schema: Document) -> bool:
    """Report whether no default in a structural schema has unknown fields."""
    if _is_known(schema):
        return True
    schema_findings = validate_schema(
        schema, "", demands=replace(_ONLY_STRUCTURE, pruned_defaults=True)
    )
    return not any(
        "must not have unknown fields" in error.detail for error in schema_findings.errors
    )


_ONLY_STRUCTURE: Final = Strictness(
    valid_types=False, pruned_defaults=False, atomic_sets=False, whole_keys=False
)


def unvalidated_formats(schema: Document) -> tuple[str, ...]:
    """Return the formats in a schema that the server does not validate."""
    formats = next((_sound[digest] for digest in _digests(schema) if digest in _sound), None)
    return tuple(unknown_formats(schema)) if formats is None else formats


def _is_known(schema: Document) -> bool:
    return any(digest in _sound for digest in _digests(schema))


def _digests(schema: Document) -> tuple[bytes, bytes]:
    return _digest(schema, status=False), _digest(schema, status=True)


def _digest(schema: Document, *, status: bool) -> bytes:
    result: Any = (status, schema)
    return blake2b(msgspec.json.encode(result), digest_size=16).digest()
