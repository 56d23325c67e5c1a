"""Decoding of request bodies, with kube-apiserver's error messages."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from kapy.apiserver.ask import Ask
from kapy.apiserver.go_json import duplicate_fields, encodable, syntax_error
from kapy.apiserver.long_json import loads, no_collection
from kapy.apiserver.resources.structs import Misfit, decoder, described, struct_of
from kapy.kube import Document
from kapy.kube.errors import BadRequest, TooLarge, UnsupportedMediaType
from kapy.kube.foreign_json import TooDeep, check_depth, is_too_deep, unchecked
from kapy.kube.names import split_api_version

LIMIT = 3 * 1024 * 1024
"""The most bytes of a body, as on kube-apiserver."""

JSON, YAML = "application/json", "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
_SHOWN = 30
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_STRUCT = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def copied(document: Any) -> Any:
    """A private deep copy of JSON data (the fastest way that there is)."""
    return _decode(_encode(document))


def media_type(ask: Ask) -> str:
    """Return the body's media type without parameters; "" if there is no such header."""
    header = ask.request.headers.get("content-type", "")
    if header == JSON:  # nearly always
        return header
    return header.partition(";")[0].strip().lower() or header


class NotJson(ValueError):
    """The body is not valid JSON (YAML, protobuf); the message is that of Go's decoder."""


def read(ask: Ask, duplicates: list[str] | None = None) -> Any:
    """Decode the body to JSON data that is private to this request. Raises NotJson, TooLarge.

    duplicates: collects the paths of duplicate fields.
    """
    raw = ask.request.body
    if raw is None or raw == b"":
        return None
    if not isinstance(raw, bytes):
        return copied(raw)
    if len(raw) > LIMIT:
        raise TooLarge(f"Request entity too large: limit is {LIMIT}")
    if media_type(ask) == PROTOBUF:
        return _from_protobuf(raw)
    return parsed(raw, duplicates)


def _from_protobuf(raw: bytes) -> Any:
    from kapy.apiserver import protobuf

    try:
        return protobuf.decoded(raw)
    except protobuf.BadContent as error:
        raise BadRequest(f"{error.said} cannot be handled as a {error.kind}: {error}") from None
    except protobuf.NotProtobuf as error:
        raise NotJson(str(error)) from None


def parsed(raw: bytes, duplicates: list[str] | None = None) -> Any:
    """Decode JSON. Raises NotJson."""
    try:
        with no_collection(len(raw)):
            value = unchecked(raw)
    except (ValueError, RecursionError):
        value = _lenient(raw)
    _check_depth(raw, value)
    if duplicates is not None and len(_encode(value)) != len(raw.strip()):
        duplicates.extend(duplicate_fields(raw))
    return value


def _lenient(raw: bytes) -> Any:
    """Decode JSON that Go accepts and msgspec does not. Raises NotJson."""
    try:
        return encodable(loads(raw.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        raise NotJson(syntax_error(raw)) from None


def _check_depth(raw: bytes, value: Any) -> None:
    """Refuse values nested too deeply for later recursion. Raises NotJson."""
    try:
        check_depth(raw, value)
    except TooDeep:
        raise NotJson("exceeded max depth") from None


def from_yaml(raw: bytes, duplicates: list[str] | None = None) -> Any:
    """Decode the first document of YAML (or JSON, by its decoder) to JSON data. Raises NotJson."""
    from kapy.kube import yaml

    if raw.startswith(b"{") and (found := _as_json(raw)) is not None:
        return found
    try:
        value = encodable(yaml.load_first(raw, duplicates=duplicates))
    except yaml.YamlError as error:
        raise NotJson(error.in_go) from None
    if is_too_deep(value):
        raise NotJson("yaml: exceeded max depth")
    return value


def _as_json(raw: bytes) -> Any:
    """Decode a body that is JSON with the same meaning in YAML; return None for other bodies.

    Clients often apply JSON, for which a YAML parser takes twenty times as long.
    """
    if _SURROGATE.search(raw):
        return None  # two escapes for one letter, which YAML refuses
    again: list[str] = []
    try:
        value = parsed(raw, again)
    except NotJson:
        return None
    return None if again else value


def read_object(ask: Ask, duplicates: list[str] | None = None) -> Document:
    """Decode the body as an object of the path's kind. Raises BadRequest, Invalid."""
    return _checked(ask, read_document(ask, duplicates))


def read_document(ask: Ask, duplicates: list[str] | None = None) -> Any:
    """Decode the body of a write without a check. Raises BadRequest, UnsupportedMediaType."""
    media = check_media_type(ask)
    raw = ask.request.body
    if media == PROTOBUF:
        if not raw:
            raise _unrecognized(ask, "empty data")
        try:
            return read(ask)
        except NotJson as error:
            raise _unrecognized(ask, str(error)) from None
    if media == YAML and isinstance(raw, bytes):
        try:
            return from_yaml(raw, duplicates)
        except NotJson as error:
            raise _unrecognized(ask, str(error)) from None
    try:
        return read(ask, duplicates)
    except NotJson as error:
        raise _unrecognized(ask, f"couldn't get version/kind; json parse error: {error}") from None


def check_media_type(ask: Ask, *, meta: bool = False) -> str:
    """Return the media type of a write's body. Raises UnsupportedMediaType.

    meta: the body is a built-in type, even if the resource is custom.
    """
    media = media_type(ask)
    if media in ("", JSON, YAML) or (
        media == PROTOBUF and isinstance(ask.request.body, bytes) and (meta or not ask.kind.custom)
    ):
        return media
    raise refuse_media_type([JSON, YAML, PROTOBUF])


def _unrecognized(ask: Ask, why: str) -> BadRequest:
    return BadRequest(
        "the object provided is unrecognized "
        f"(must be of type {ask.kind.resource.kind}): {why} ({_summary(ask)})"
    )


def _text(ask: Ask) -> bytes:
    raw = ask.request.body
    if isinstance(raw, bytes):
        return raw
    return b"" if raw is None else _encode(raw)


def _summary(ask: Ask) -> str:
    """Return the beginning of a body for messages, as text or (if not an object) in hex."""
    raw = _text(ask)
    if not raw:
        return "<empty>"
    head = raw[:_SHOWN]
    text = head.decode("utf-8", "replace") if raw[:1] == b"{" else head.hex()
    return f"{text} ..." if len(raw) > _SHOWN else text


def _checked(ask: Ask, document: Any) -> Document:
    """Check that the document is an object of the path's kind, and return it."""
    if document is None and (media_type(ask) == YAML or _text(ask).strip()):
        document = {}  # as Go reads `null`, and YAML of nothing
    if not isinstance(document, dict):
        why = no_object(document)
        raise _unrecognized(ask, f"couldn't get version/kind; {why}")
    resource = ask.kind.resource
    version, kind = document.get("apiVersion"), document.get("kind")
    if version == resource.api_version and kind == resource.kind:
        return document
    for field in ("apiVersion", "kind"):
        value = _named_in_any_case(document, field)
        if not isinstance(value, str | None):
            raise _unrecognized(ask, f"couldn't get version/kind; {not_a_text(field, value)}")
    if isinstance(version, str) and version.count("/") > 1:
        raise _unrecognized(ask, f"unexpected GroupVersion string: {version}")
    if ask.kind.custom:
        return _custom(ask, document)
    return _built_in(ask, document)


def _named_in_any_case(document: Document, name: str) -> Any:
    """Return a field's value like encoding/json: by exact name, else in any letter case."""
    if name in document:
        return document[name]
    wanted = name.lower()
    found = [value for key, value in document.items() if key.lower() == wanted]
    return found[-1] if found else None


def _custom(ask: Ask, document: Document) -> Document:
    version, kind = document.get("apiVersion", ""), ask.kind.resource.kind
    if not document.get("kind"):
        why = f"Object 'Kind' is missing in '{_text(ask).decode('utf-8', 'replace')}'"
        if ask.query.get("fieldValidation") != "Ignore":
            raise _unrecognized(ask, why)
        number = split_api_version(version or ask.kind.resource.api_version)[1]
        raise BadRequest(f'{kind} in version "{number}" cannot be handled as a {kind}: {why}')
    if version is None:
        why = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
        raise BadRequest(f'{document["kind"]} in version "" cannot be handled as a {kind}: {why}')
    return {**document, "apiVersion": document.get("apiVersion") or ""}


def _built_in(ask: Ask, document: Document) -> Document:
    """Set apiVersion and kind, which clients may leave out for built-in kinds."""
    resource = ask.kind.resource
    kind = document.get("kind") or resource.kind
    version = document.get("apiVersion") or resource.api_version
    if (version, kind) == (resource.api_version, resource.kind):
        return {**document, "apiVersion": version, "kind": kind}
    group, number = split_api_version(version)
    known = struct_of(group, number, kind) is not None
    if known and group == resource.group:
        package = resource.group.partition(".")[0] or "core"
        why = f"converting ({number}.{kind}) to ({package}.{resource.kind}): unknown conversion"
    elif known:
        raise BadRequest(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({resource.api_version})"
        )
    else:
        scheme = "pkg/runtime/scheme.go:111"
        why = f'no kind "{kind}" is registered for version "{version}" in scheme "{scheme}"'
    raise BadRequest(f'{kind} in version "{number}" cannot be handled as a {resource.kind}: {why}')


def fitted(document: Document, struct: str) -> Document:
    """Decode a document as a built-in struct. Raises BadRequest.

    struct: its name in the facts, such as `meta.v1.DeleteOptions`.
    """
    _, version, kind = struct.rsplit(".", 2)
    try:
        decoded: Document = decoder(struct)(document, None, [])
    except Misfit as error:
        raise BadRequest(
            f'{kind} in version "{version}" cannot be handled as a {kind}: {error}'
        ) from None
    return decoded


def no_object(value: Any) -> str:
    """Return the error for a body that is not a JSON object."""
    if value is None:
        return "json parse error: unexpected end of JSON input"
    said = f"cannot unmarshal {described(value)} into Go value of type {_STRUCT}"
    return f"json parse error: json: {said}"


def not_a_text(field: str, value: Any) -> str:
    """Return the error for an `apiVersion` or `kind` that is not a string."""
    said = f"cannot unmarshal {described(value)} into Go struct field .{field} of type string"
    return f"json parse error: json: {said}"


def refuse_media_type(accepted: list[str]) -> UnsupportedMediaType:
    """Return the error for an unsupported media type of the body."""
    return UnsupportedMediaType(
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(accepted)
    )
