"""The schemas of definitions, each looked at once in a process.

Looking at one takes milliseconds, and the same kinds are installed again and again: by planes on
paper and in tests, by whoever creates a definition and then writes its status.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import msgspec

from kapy.kube import Document
from kapy.kube.field_errors import FieldError
from kapy.kube.schema import has_rules, schema_errors, unknown_formats

_MOST: Final = 4096
_sound: Final[dict[bytes, tuple[str, ...]]] = {}
"""The unknown formats of schemas in which nothing is wrong, by digest."""


def problems(schema: Document, path: str) -> list[FieldError]:
    """What is wrong with a schema that stands at `path`, in its structure or else in its rules."""
    digest = _digest(schema)
    if digest in _sound:
        return []
    found = schema_errors(schema, path) or _rule_errors(schema, path)
    if not found:
        if len(_sound) >= _MOST:
            _sound.clear()
        _sound[digest] = tuple(unknown_formats(schema))
    return found


def formats_nobody_checks(schema: Document) -> tuple[str, ...]:
    """Formats of a schema that mean nothing here, each once."""
    known = _sound.get(_digest(schema))
    return tuple(unknown_formats(schema)) if known is None else known


def _digest(schema: Document) -> bytes:
    return blake2b(msgspec.json.encode(schema), digest_size=16).digest()


def _rule_errors(schema: Document, path: str) -> list[FieldError]:
    if not has_rules(schema):
        return []
    from kapy.kube.cel import rule_errors

    return rule_errors(schema, path)
