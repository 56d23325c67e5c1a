"""Redact messages of hooks for display: patches are decoded, possible secrets removed.

A possible secret is the value of a field, a variable or a patched path whose name contains a word
of `_WORDS`, and the contents of machine files. If such a field holds an object, its texts are
removed, too, except for those that locate a secret.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.foreign_json import decode_json

REDACTED: Final = "(not shown)"
_WORDS: Final = ("passw", "secret", "token", "key", "credential", "content")
_PLACES: Final = frozenset(("apiVersion", "kind", "namespace", "name"))
"""Fields of a reference, of which none is a secret."""


def redact_message(message: bytes) -> Document:
    """Return a redacted request or response. Raises ValueError if it is no JSON object."""
    document = decode_json(message)
    if not isinstance(document, dict):
        raise ValueError("it is no JSON object")
    for item in document.get("items") or ():
        if isinstance(item, dict) and "patch" in item:
            item["patch"] = _readable(item["patch"])
    result: Document = _redact(document)
    return result


def _readable(patch: Any) -> Any:
    try:
        return decode_json(b64decode(patch or ""))
    except (ValueError, TypeError):
        return patch


def _redact(node: Any, *, secret: bool = False) -> Any:
    """Return a node of a document without possible secrets. secret: whether the node is the value
    of a field with a suspicious name.
    """
    if isinstance(node, list):
        return [_redact(item, secret=secret) for item in node]
    if not isinstance(node, dict):
        return REDACTED if secret and _is_plain(node) else node
    named = _is_secret(str(node.get("name", ""))) or _is_secret(str(node.get("path", "")))
    return {
        key: REDACTED
        if named and key in ("value", "content")
        else _redact(value, secret=_is_secret(key) or (secret and key not in _PLACES))
        for key, value in node.items()
    }


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _is_secret(name: str) -> bool:
    lower = name.lower()
    return any(word in lower for word in _WORDS)
