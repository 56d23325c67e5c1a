"""From a request's body to a private document, with kube-apiserver's complaints."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from kapy.apiserver.ask import Ask
from kapy.kube import Document
from kapy.kube.errors import BadRequest, TooLarge, UnsupportedMediaType
from kapy.kube.names import split_api_version

LIMIT = 3 * 1024 * 1024
"""Bytes that a body may have, as on kube-apiserver."""

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def copied(document: Any) -> Any:
    """A private deep copy of JSON data (the fastest way that there is)."""
    return _decode(_encode(document))


def media_type(ask: Ask) -> str:
    """The body's media type without parameters."""
    return ask.request.headers.get("content-type", "").partition(";")[0].strip()


def read(ask: Ask, duplicates: list[str] | None = None) -> Any:
    """The body as JSON data, private to this request. Raises BadRequest, TooLarge.

    duplicates: collects the paths of fields that stand in the body twice.
    """
    raw = ask.request.body
    if raw is None or raw == b"":
        return None
    if not isinstance(raw, bytes):
        return copied(raw)
    if len(raw) > LIMIT:
        raise TooLarge(f"Request entity too large: limit is {LIMIT}")
    try:
        value = _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = _lenient(raw)
    if duplicates is not None and len(_encode(value)) != len(raw.strip()):
        duplicates.extend(_duplicates(raw))
    return value


def _lenient(raw: bytes) -> Any:
    """What Go's decoder takes and msgspec does not; otherwise the complaint."""
    try:
        return json.loads(raw.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        raise BadRequest(complaint(raw)) from None


def _duplicates(raw: bytes) -> list[str]:
    found: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        for key, value in items:
            if key in seen:
                seen.setdefault("\0", []).append(key)
            seen[key] = value
        return seen

    def walk(node: Any, path: str) -> None:
        if isinstance(node, dict):
            for key in dict.fromkeys(node.get("\0", ())):
                found.append(f"{path}.{key}" if path else key)
            for key, value in node.items():
                if key != "\0":
                    walk(value, f"{path}.{key}" if path else key)
        elif isinstance(node, list):
            for index, value in enumerate(node):
                walk(value, f"{path}[{index}]")

    walk(json.loads(raw, object_pairs_hook=pairs), "")
    return found


def complaint(raw: bytes) -> str:
    """What Go says about bytes that are no JSON."""
    return f"couldn't get version/kind; json parse error: {syntax_error(raw)}"


_CONTEXTS = {
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Expecting ':' delimiter": "after object key",
    "Expecting value": "looking for beginning of value",
    "Extra data": "after top-level value",
    "Illegal trailing comma before end of object": "looking for beginning of object key string",
}


def syntax_error(raw: bytes) -> str:
    """The sentence of Go's encoding/json about the first wrong character."""
    text = raw.decode("utf-8", "replace")
    try:
        json.loads(text)
    except RecursionError:
        return "exceeded max depth"
    except json.JSONDecodeError as error:
        position = error.pos
        while position < len(text) and text[position] in " \t\r\n":
            position += 1
        if position >= len(text) or "Unterminated" in error.msg:
            return "unexpected end of JSON input"
        where = _CONTEXTS.get(error.msg, "looking for beginning of value")
        if error.msg == "Expecting ',' delimiter":
            where = _after(text, position)
        if where == "looking for beginning of value" and (word := _literal(text, position)):
            return word
        return f"invalid character {_quoted(text[position])} {where}"
    return "unexpected end of JSON input"


def _literal(text: str, position: int) -> str:
    for word in ("true", "false", "null"):
        found = re.match(r"[a-z]+", text[position:])
        if found and found[0] != word and found[0][0] == word[0]:
            for index, letter in enumerate(word):
                got = text[position + index : position + index + 1]
                if got != letter:
                    return (
                        f"invalid character {_quoted(got)} in literal {word} "
                        f"(expecting {_quoted(letter)})"
                    )
    return ""


def _after(text: str, position: int) -> str:
    depth = 0
    for character in reversed(text[:position]):
        if character in "}]":
            depth += 1
        elif character in "{[":
            if depth == 0:
                return "after object key:value pair" if character == "{" else "after array element"
            depth -= 1
    return "after top-level value"


def _quoted(character: str) -> str:
    if character == "'":
        return "'\\''"
    return f"'{character}'"


def check_kind(ask: Ask, document: Any) -> Document:
    """The body as an object of the kind that the path names. Raises BadRequest."""
    resource = ask.kind.resource
    if document is None:
        raise BadRequest("EOF")
    if not isinstance(document, dict):
        what = _go_type(document)
        raise BadRequest(
            "couldn't get version/kind; json parse error: json: cannot unmarshal "
            f"{what} into Go value of type struct {{ APIVersion string "
            '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        )
    version, kind = document.get("apiVersion"), document.get("kind")
    if version == resource.api_version and kind == resource.kind:
        return document
    return _adopted(ask, document)


def _adopted(ask: Ask, document: Document) -> Document:
    """Kubernetes' own kinds take a body without apiVersion and kind; any other is refused."""
    resource = ask.kind.resource
    version, kind = document.get("apiVersion", ""), document.get("kind", "")
    version = version or resource.api_version
    if kind == "" and ask.kind.custom and "kind" not in document:
        raise BadRequest(f"Object 'Kind' is missing in '{_compact(document)}'")
    kind = kind or resource.kind
    if (version, kind) != (resource.api_version, resource.kind):
        group, number = split_api_version(version)
        where = f"{group}/{number}" if group else number
        raise BadRequest(
            f"the API version in the data ({where}) does not match the expected API version "
            f"({resource.api_version})"
        )
    return {**document, "apiVersion": version, "kind": kind}


def _compact(document: Any) -> str:
    return _encode(document).decode()


def _go_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return {str: "string", list: "array", dict: "object"}.get(type(value), "null")


def refuse_media_type(found: str, accepted: list[str]) -> UnsupportedMediaType:
    """The body's media type is none that the verb understands."""
    del found
    return UnsupportedMediaType(
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(accepted)
    )
