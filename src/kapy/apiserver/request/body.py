"""Decoding of request bodies, with kube-apiserver's error messages."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from kapy.apiserver.encoding.go_json import duplicate_fields, syntax_error, to_go_values
from kapy.apiserver.encoding.long_json import loads, paused_collection
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.resources.structs import WrongType, decoder, json_type_name, struct_of
from kapy.kube import Document
from kapy.kube.errors import BadRequest, TooLarge, UnsupportedMediaType, shorten
from kapy.kube.foreign_json import TooDeep, check_depth, decode_json_unchecked, is_too_deep
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


def deep_copy(document: Any) -> Any:
    """Return a private deep copy of JSON data (the fastest way that there is)."""
    return _decode(_encode(document))


def media_type(context: RequestContext) -> str:
    """Return the body's media type without parameters; "" if there is no such header."""
    header = context.request.headers.get("content-type", "")
    if header == JSON:  # the most frequent header
        return header
    return header.partition(";")[0].strip().lower() or header


class InvalidJson(ValueError):
    """The body is not valid JSON (YAML, protobuf); the message is that of Go's decoder."""


def decode_body(context: RequestContext, duplicates: list[str] | None = None) -> Any:
    """Decode the body to JSON data that is private to this request. Raises InvalidJson, TooLarge.

    duplicates: collects the paths of duplicate fields.
    """
    raw = context.request.body
    if raw is None or raw == b"":
        return None
    if not isinstance(raw, bytes):
        return deep_copy(raw)
    if len(raw) > LIMIT:
        raise TooLarge(f"Request entity too large: limit is {LIMIT}")
    if media_type(context) == PROTOBUF:
        return _from_protobuf(raw)
    return decode_json(raw, duplicates)


def _from_protobuf(raw: bytes) -> Any:
    from kapy.apiserver.encoding import protobuf

    try:
        return protobuf.decode_protobuf(raw)
    except protobuf.InvalidContent as error:
        raise BadRequest(f"{error.said} cannot be handled as a {error.kind}: {error}") from None
    except protobuf.NotProtobuf as error:
        raise InvalidJson(str(error)) from None


def decode_json(raw: bytes, duplicates: list[str] | None = None) -> Any:
    """Decode a JSON body. Raises InvalidJson. duplicates: collects paths of duplicate fields."""
    try:
        with paused_collection(len(raw)):
            value = decode_json_unchecked(raw)
    except (ValueError, RecursionError):
        value = _decode_leniently(raw)
    _check_depth(raw, value)
    if duplicates is not None and len(_encode(value)) != len(raw.strip()):
        duplicates.extend(duplicate_fields(raw))
    return value


def _decode_leniently(raw: bytes) -> Any:
    """Decode JSON that Go accepts and msgspec does not. Raises InvalidJson."""
    try:
        return to_go_values(loads(raw.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        raise InvalidJson(syntax_error(raw)) from None


def _check_depth(raw: bytes, value: Any) -> None:
    """Refuse values nested too deeply for later recursion. Raises InvalidJson."""
    try:
        check_depth(raw, value)
    except TooDeep:
        raise InvalidJson("exceeded max depth") from None


def decode_yaml(raw: bytes, duplicates: list[str] | None = None) -> Any:
    """Decode the first document of YAML (or JSON, by its decoder) to JSON data. Raises
    InvalidJson.
    """
    from kapy.kube import yaml

    if raw.startswith(b"{") and (result := _decode_json_in_yaml(raw)) is not None:
        return result
    try:
        value = to_go_values(yaml.load_first(raw, duplicates=duplicates))
    except yaml.YamlError as error:
        raise InvalidJson(shorten(error.in_go)) from None
    if is_too_deep(value):
        raise InvalidJson("yaml: exceeded max depth")
    return value


def _decode_json_in_yaml(raw: bytes) -> Any:
    """Decode a body that is JSON with the same meaning in YAML; return None for other bodies.

    Clients often apply JSON, for which a YAML parser takes twenty times as long.
    """
    if _SURROGATE.search(raw):
        return None  # two escapes for one letter, which YAML refuses
    again: list[str] = []
    try:
        value = decode_json(raw, again)
    except InvalidJson:
        return None
    return None if again else value


def read_object(context: RequestContext, duplicates: list[str] | None = None) -> Document:
    """Decode the body as an object of the path's kind. Raises BadRequest, Invalid."""
    return _check_document(context, read_document(context, duplicates))


def read_document(context: RequestContext, duplicates: list[str] | None = None) -> Any:
    """Decode the body of a write without a check. Raises BadRequest, UnsupportedMediaType."""
    media = check_media_type(context)
    raw = context.request.body
    if media == PROTOBUF:
        if not raw:
            raise _unrecognized_error(context, "empty data")
        try:
            return decode_body(context)
        except InvalidJson as error:
            raise _unrecognized_error(context, str(error)) from None
    if media == YAML and isinstance(raw, bytes):
        try:
            return decode_yaml(raw, duplicates)
        except InvalidJson as error:
            raise _unrecognized_error(context, str(error)) from None
    try:
        return decode_body(context, duplicates)
    except InvalidJson as error:
        raise _unrecognized_error(
            context, f"couldn't get version/kind; json parse error: {error}"
        ) from None


def check_media_type(context: RequestContext, *, meta: bool = False) -> str:
    """Return the media type of a write's body. Raises UnsupportedMediaType.

    meta: the body is a built-in type, even if the resource is custom.
    """
    media = media_type(context)
    if media in ("", JSON, YAML) or (
        media == PROTOBUF
        and isinstance(context.request.body, bytes)
        and (meta or not context.kind.custom)
    ):
        return media
    raise unsupported_media_type([JSON, YAML, PROTOBUF])


def _unrecognized_error(context: RequestContext, why: str) -> BadRequest:
    return BadRequest(
        "the object provided is unrecognized "
        f"(must be of type {context.kind.resource.kind}): {why} ({_summary(context)})"
    )


def _text(context: RequestContext) -> bytes:
    raw = context.request.body
    if isinstance(raw, bytes):
        return raw
    return b"" if raw is None else _encode(raw)


def _summary(context: RequestContext) -> str:
    """Return the beginning of a body for messages, as text or (if not an object) in hex."""
    raw = _text(context)
    if not raw:
        return "<empty>"
    head = raw[:_SHOWN]
    text = head.decode("utf-8", "replace") if raw[:1] == b"{" else head.hex()
    return f"{text} ..." if len(raw) > _SHOWN else text


def _check_document(context: RequestContext, document: Any) -> Document:
    """Check that the document is an object of the path's kind, and return it."""
    if document is None and (media_type(context) == YAML or _text(context).strip()):
        document = {}  # Go decodes `null` so, and YAML an empty document
    if not isinstance(document, dict):
        why = not_an_object_error(document)
        raise _unrecognized_error(context, f"couldn't get version/kind; {why}")
    resource = context.kind.resource
    version, kind = document.get("apiVersion"), document.get("kind")
    if version == resource.api_version and kind == resource.kind:
        return document
    for field in ("apiVersion", "kind"):
        value = _get_ignoring_case(document, field)
        if not isinstance(value, str | None):
            raise _unrecognized_error(
                context, f"couldn't get version/kind; {not_a_string_error(field, value)}"
            )
    if isinstance(version, str) and version.count("/") > 1:
        raise _unrecognized_error(context, f"unexpected GroupVersion string: {version}")
    if context.kind.custom:
        return _check_custom(context, document)
    return _check_builtin(context, document)


def _get_ignoring_case(document: Document, name: str) -> Any:
    """Return a field's value like encoding/json: by exact name, else in any letter case."""
    if name in document:
        return document[name]
    wanted = name.lower()
    result = [value for key, value in document.items() if key.lower() == wanted]
    return result[-1] if result else None


def _check_custom(context: RequestContext, document: Document) -> Document:
    version, kind = document.get("apiVersion", ""), context.kind.resource.kind
    if not document.get("kind"):
        why = f"Object 'Kind' is missing in '{_text(context).decode('utf-8', 'replace')}'"
        if context.query.get("fieldValidation") != "Ignore":
            raise _unrecognized_error(context, why)
        number = split_api_version(version or context.kind.resource.api_version)[1]
        raise BadRequest(f'{kind} in version "{number}" cannot be handled as a {kind}: {why}')
    if version is None:
        why = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
        raise BadRequest(f'{document["kind"]} in version "" cannot be handled as a {kind}: {why}')
    return {**document, "apiVersion": document.get("apiVersion") or ""}


def _check_builtin(context: RequestContext, document: Document) -> Document:
    """Set apiVersion and kind, which clients may leave out for built-in kinds."""
    resource = context.kind.resource
    kind = document.get("kind") or resource.kind
    version = document.get("apiVersion") or resource.api_version
    if (version, kind) == (resource.api_version, resource.kind):
        return {**document, "apiVersion": version, "kind": kind}
    group, number = split_api_version(version)
    is_builtin = struct_of(group, number, kind) is not None
    if is_builtin and group == resource.group:
        package = resource.group.partition(".")[0] or "core"
        why = f"converting ({number}.{kind}) to ({package}.{resource.kind}): unknown conversion"
    elif is_builtin:
        raise BadRequest(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({resource.api_version})"
        )
    else:
        scheme = "pkg/runtime/scheme.go:111"
        why = f'no kind "{kind}" is registered for version "{version}" in scheme "{scheme}"'
    raise BadRequest(f'{kind} in version "{number}" cannot be handled as a {resource.kind}: {why}')


def decode_struct(document: Document, struct: str) -> Document:
    """Decode a document as a built-in struct. Raises BadRequest.

    struct: its name in the facts, such as `meta.v1.DeleteOptions`.
    """
    _, version, kind = struct.rsplit(".", 2)
    try:
        decoded: Document = decoder(struct)(document, None, [])
    except WrongType as error:
        raise BadRequest(
            f'{kind} in version "{version}" cannot be handled as a {kind}: {error}'
        ) from None
    return decoded


def not_an_object_error(value: Any) -> str:
    """Return the error for a body that is not a JSON object."""
    if value is None:
        return "json parse error: unexpected end of JSON input"
    result = f"cannot unmarshal {json_type_name(value)} into Go value of type {_STRUCT}"
    return f"json parse error: json: {result}"


def not_a_string_error(field: str, value: Any) -> str:
    """Return the error for an `apiVersion` or `kind` that is not a string."""
    result = (
        f"cannot unmarshal {json_type_name(value)} into Go struct field .{field} of type string"
    )
    return f"json parse error: json: {result}"


def unsupported_media_type(accepted: list[str]) -> UnsupportedMediaType:
    """Return the error for an unsupported media type of the body."""
    return UnsupportedMediaType(
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(accepted)
    )
