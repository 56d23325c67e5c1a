"""Objects of our kinds in another version of the API (upstream's conversion webhooks).

One version is stored, the hub; each older one is converted to it and from it, never two older ones
directly. An annotation carries the fields that an older version does not have, so that nothing is
lost on the way there and back.

`kapy.api.v1beta1` and `kapy.api.v1alpha1` declare the differences; `kapy.api.older` converts by
them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kapy.api.conversion.wire import InvalidForm, normalize, normalize_json
from kapy.api.kinds import BY_GROUP_KIND, STORED, Kind
from kapy.api.names import Annotation
from kapy.api.older.difference import CannotConvert, ConversionError, Place, ReferenceVersion
from kapy.kube import Document
from kapy.kube.model import decode_problem
from kapy.kube.names import GroupKind, split_api_version

if TYPE_CHECKING:
    from kapy.api.older.converter import Converter

__all__ = ["ConversionError", "ReferenceVersion", "convert"]

DATA: Final = Annotation.CONVERSION_DATA
"""The annotation that stores the hub's form of an object that was converted from it."""

_ESCAPES: Final = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
"""Characters that Go's encoder escapes although JSON does not require it."""


def convert(
    document: Document, api_version: str, *, reference_version: ReferenceVersion | None = None
) -> Document:
    """Return the object in another version of its API.

    reference_version: returns the version for a reference that has none, which older versions need;
    without it, such a reference is an error. Raises ConversionError. The result shares parts of its
    metadata with `document`, which is not changed.
    """
    if document.get("apiVersion") == api_version:
        return document
    kind, source = _kind(document)
    group, target = split_api_version(api_version)
    if group != kind.group or target not in kind.versions:
        raise ConversionError(
            f"{_name(document)} cannot be converted to {api_version}: {_list_versions(kind)}"
        )
    try:
        _check_metadata(document.get("metadata") or {})
        if source != STORED:
            document = _to_hub(document, kind, source)
        if target != STORED:
            document = _from_hub(document, kind, target, reference_version or _no_version)
    except (CannotConvert, msgspec.ValidationError) as error:
        why = _field(error) if isinstance(error, msgspec.ValidationError) else str(error)
        raise ConversionError(
            f"{_name(document)} cannot be converted to {api_version}: {why}"
        ) from None
    return document


def _kind(document: Document) -> tuple[Kind, str]:
    group, version = split_api_version(str(document.get("apiVersion", "")))
    kind = BY_GROUP_KIND.get(GroupKind(group, str(document.get("kind", ""))))
    if kind is None:
        raise ConversionError(f"{_name(document)} is not of a kind that is converted here")
    if version not in kind.versions:
        raise ConversionError(f"{_name(document)} has no such version: {_list_versions(kind)}")
    return kind, version


def _list_versions(kind: Kind) -> str:
    return f"versions of {kind.name} are {', '.join(f'{kind.group}/{v}' for v in kind.versions)}"


def _name(document: Document) -> str:
    meta: Any = document.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    name = "/".join(str(meta[key]) for key in ("namespace", "name") if meta.get(key))
    result = f"{document.get('apiVersion', '(no apiVersion)')} {document.get('kind', '(no kind)')}"
    return f"{result} {name}".rstrip()


def _field(error: msgspec.ValidationError) -> str:
    path, why = decode_problem(error)
    if isinstance(error.__cause__, InvalidForm):
        why, path = error.__cause__.why, f"{path}.{error.__cause__.field}"
    return f"{path}: {why}" if path else why


def _to_hub(document: Document, kind: Kind, version: str) -> Document:
    both = _converter(kind, version)
    metadata, data = document.get("metadata") or {}, None
    if both.remembers:
        metadata, data = _split_data(metadata)
    body = normalize(document, kind.type_of(version))
    hub = kind.type_of()
    body["metadata"] = metadata
    both.upgrade(body, _decode_data(data, hub), _root(metadata, _no_version))
    return _object(kind, STORED, body["metadata"], normalize(body, hub))


def _from_hub(
    document: Document, kind: Kind, version: str, reference_version: ReferenceVersion
) -> Document:
    both = _converter(kind, version)
    body = normalize(document, kind.type_of())
    metadata = document.get("metadata") or {}
    if both.remembers:
        content = body or {
            "metadata": {}
        }  # upstream leaves an empty metadata if no field follows it
        data = msgspec.json.encode(
            {"kind": kind.name, "apiVersion": f"{kind.group}/{STORED}", **content}
        )
        annotations = metadata.get("annotations") or {}
        annotations = {**annotations, DATA: _escape(data.decode())}
        metadata = {**metadata, "annotations": annotations}
    body["metadata"] = metadata
    both.downgrade(body, _root(metadata, reference_version))
    return _object(kind, version, body["metadata"], normalize(body, kind.type_of(version)))


def _escape(data: str) -> str:
    for character, escape in _ESCAPES.items():
        data = data.replace(character, escape)  # much faster than str.translate
    return data


def _object(kind: Kind, version: str, metadata: Document, body: Document) -> Document:
    api_version = f"{kind.group}/{version}"
    return {"kind": kind.name, "apiVersion": api_version, "metadata": metadata, **body}


@cache
def _converter(kind: Kind, version: str) -> Converter:
    # Imported here, because most programs never convert.
    from kapy.api.older.converter import UNCHANGED, converter

    return converter(kind.type_of(), version) or UNCHANGED


def _root(metadata: Document, reference_version: ReferenceVersion) -> Place:
    return Place("", metadata.get("namespace", ""), reference_version)


def _check_metadata(metadata: Any) -> None:
    """Raise CannotConvert if metadata does not have the form that an API server ensures."""
    if not isinstance(metadata, dict):
        raise CannotConvert("metadata", "must be an object")
    annotations = metadata.get("annotations") or {}
    if not isinstance(annotations, dict):
        raise CannotConvert("metadata.annotations", "must be an object")
    if not isinstance(annotations.get(DATA), str | None):
        raise CannotConvert(f"metadata.annotations[{DATA}]", "must be a string")


def _split_data(metadata: Document) -> tuple[Document, str | None]:
    """Return the metadata without the annotation, and the value of the annotation."""
    annotations = metadata.get("annotations") or {}
    if DATA not in annotations:
        return metadata, None
    others = {key: value for key, value in annotations.items() if key != DATA}
    metadata = {key: value for key, value in metadata.items() if key != "annotations"}
    return metadata | ({"annotations": others} if others else {}), annotations[DATA]


def _decode_data(data: str | None, hub: type[Any]) -> Document | None:
    if data is None:
        return None
    try:
        return normalize_json(data, hub)
    except (ValueError, RecursionError) as error:
        raise CannotConvert(f"metadata.annotations[{DATA}]", str(error)) from None


def _no_version(kind: GroupKind) -> str:
    raise LookupError(f"which version of {kind} it means is not known")
