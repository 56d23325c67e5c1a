"""Schemas of kinds, by which the server prunes, defaults, validates and merges objects."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from kapy.apiserver.resources.structs import (
    MalformedValue,
    WrongType,
    decoder,
    sort_by_name,
)
from kapy.kube import Document
from kapy.kube.apply import Tracker
from kapy.kube.field_errors import FieldError, Path, invalid, path_text
from kapy.kube.schema import Structural, scale_errors


class ObjectSchema:
    """The schema of a built-in kind. struct: its Go struct, "" if unknown.

    The field tracker is created at its first use, because it needs the types of all served
    versions.
    """

    __slots__ = ("_make_tracker", "_tracker", "struct")

    def __init__(self, make_tracker: Callable[[], Tracker], struct: str = "") -> None:
        self.struct = struct
        self._make_tracker = make_tracker
        self._tracker: Tracker | None = None

    @property
    def tracker(self) -> Tracker:
        """Return the field ownership tracker for all versions of the kind."""
        if self._tracker is None:
            self._tracker = self._make_tracker()
        return self._tracker

    def decode(
        self,
        document: Document,
        unknown: list[str],
        *,
        live: Document | None = None,
        keep_nulls: bool = False,
    ) -> Document:
        """Return the object pruned and defaulted; add paths of unknown fields to `unknown`.

        live: an object decoded earlier with which `document` may share parts. keep_nulls: keep
        invalid nulls for validation to report. Raises WrongType if a field has a wrong type.
        """
        del keep_nulls
        if not self.struct:
            return document
        if live is not None:
            return _decode_derived(self.struct, document, unknown, live)
        decoded: Document = decoder(self.struct)(document, None, unknown)
        return decoded

    def decode_metadata(self, document: Document, unknown: list[str]) -> Document:
        """Decode the metadata of the object as Go's struct. Raises WrongType."""
        metadata = document.get("metadata")
        if metadata is None:
            return document
        return {**document, "metadata": _read_metadata(metadata, {}, unknown)}

    def add_defaults(self, document: Document) -> Document:
        """Add missing defaults, as for an object read from the store."""
        return document

    def decode_for_webhook(self, document: Document) -> Document:
        """Return the object as the next webhook sees it. Raises WrongType.

        A custom object has defaults, but its unknown fields are not pruned.
        """
        return self.decode(document, [])

    def prune(self, document: Document) -> Document:
        """Remove fields and nulls that this version does not allow, after a conversion."""
        return document

    def errors(
        self,
        document: Document,
        old: Document | None,
        warnings: list[str] | None = None,
        reported: Sequence[FieldError] = (),
    ) -> list[FieldError]:
        """Return the schema errors.

        Errors that `old` already had may be accepted with warnings. reported: the errors of the
        metadata.
        """
        del document, old, warnings, reported
        return []


def _decode_derived(struct: str, value: Document, unknown: list[str], live: Document) -> Document:
    """Decode an object derived from `live`, which was decoded before it was stored.

    Metadata values that are identical objects in both are not decoded again. Unchanged
    managedFields thus stay the same object, which is fast to compare and store.
    """
    decode, own_metadata, settled = decoder(struct), value.get("metadata"), live["metadata"]
    if not isinstance(own_metadata, dict):
        whole: Document = decode(value, None, unknown)
        return whole
    same = {key: item for key, item in own_metadata.items() if item and settled.get(key) is item}
    rest = {key: item for key, item in own_metadata.items() if key not in same}
    out: Document = decode({**value, "metadata": rest}, None, unknown)
    out["metadata"] = {**same, **out["metadata"]}
    return out


class CustomSchema(ObjectSchema):
    """The schema of a custom kind in one version.

    It is compiled at the first write, because a server may start with many definitions of which it
    uses few.
    """

    __slots__ = ("_compiled", "_digest", "_made", "_preserve", "_scale", "openapi")

    def __init__(
        self,
        compiled: Callable[[], Structural],
        make_tracker: Callable[[], Tracker],
        *,
        preserve: bool = False,
        scale: Document | None = None,
        openapi: Document | None = None,
    ) -> None:
        super().__init__(make_tracker)
        self.openapi: Document = openapi or {}
        self._compiled = compiled
        self._digest = b""
        self._made: Structural | None = None
        self._scale = scale
        self._preserve = preserve

    @property
    def digest(self) -> bytes:
        """Return a digest of the schema, the same in each process."""
        if not self._digest:
            self._digest = hashlib.sha256(msgspec.json.encode(self.openapi)).digest()
        return self._digest

    @property
    def _structural(self) -> Structural:
        structural = self._made
        if structural is None:
            structural = self._made = self._compiled()
        return structural

    def decode(
        self,
        document: Document,
        unknown: list[str],
        *,
        live: Document | None = None,
        keep_nulls: bool = False,
    ) -> Document:
        metadata = document.get("metadata")
        if metadata is not None and (live is None or metadata is not live["metadata"]):
            settled = live["metadata"] if live is not None else {}
            document = {**document, "metadata": _read_metadata(metadata, settled, unknown)}
        structural = self._structural
        settled = live is not None and structural.is_settled(document, live)
        if not settled:
            document = structural.default(document, live, keep_nulls=keep_nulls)
        if self._preserve:
            return document
        for path, name, value in structural.embedded_metadata(document):
            _check_embedded(path, name, value)
        if not settled:
            document, dropped = structural.prune(document, live)
            unknown.extend(dropped)
        return document

    def decode_for_webhook(self, document: Document) -> Document:
        metadata = document.get("metadata")
        if isinstance(metadata, dict):
            document = {**document, "metadata": _read_metadata(metadata, {}, [])}
        return self._structural.default(document)

    def prune(self, document: Document) -> Document:
        if self._preserve:
            return document
        return self._structural.without_nulls(self._structural.prune(document)[0])

    def add_defaults(self, document: Document) -> Document:
        return self._structural.default(document, keep_nulls=True)

    def errors(
        self,
        document: Document,
        old: Document | None,
        warnings: list[str] | None = None,
        reported: Sequence[FieldError] = (),
    ) -> list[FieldError]:
        errors = self._structural.validate(document, old, warnings, reported)
        return errors + scale_errors(document, self._scale) if self._scale else errors


_metadata = decoder("meta.v1.ObjectMeta")


def _check_embedded(path: Path, name: str, value: Any) -> None:
    """Check that metadata and type of an embedded object have valid types. Raises WrongType."""
    why = "must be a string"
    if name != "metadata":
        if isinstance(value, str):
            return
    elif value is None:
        return
    else:
        try:
            _metadata(value, None, [])
        except WrongType as error:
            why = str(error)
        else:
            return
    raise MalformedValue(str(invalid(path_text((path, f".{name}")), value, why)))


def drop_invalid_metadata(document: Document) -> Document:
    """Drop server-set metadata of a wrong type from an applied custom object.

    The server overwrites these fields anyway.
    """
    meta = document.get("metadata") or {}
    wrong = [
        key for key in _WRITTEN if meta.get(key) is not None and not _has_valid_type(key, meta[key])
    ]
    if not wrong:
        return document
    return {**document, "metadata": {k: value for k, value in meta.items() if k not in wrong}}


_WRITTEN: Final = ("creationTimestamp", "deletionTimestamp", "generation")


def _has_valid_type(field: str, value: Any) -> bool:
    try:
        _metadata({field: value}, None, [])
    except WrongType:
        return False
    return True


def _read_metadata(values: Any, settled: Document, unknown: list[str]) -> Document:
    """Decode the metadata as Go's struct; values shared with `settled` are not decoded again."""
    whole = values
    if settled and isinstance(values, dict):
        values = {
            key: value for key, value in values.items() if settled.get(key, whole) is not value
        }
    misplaced: list[str] = []
    try:
        metadata: Document = _metadata(values, None, misplaced)
    except WrongType:
        # kube-apiserver sorts metadata by name and reports the first error.
        _metadata(sort_by_name(values), None, [])
        raise
    if len(misplaced) > 1:
        misplaced.clear()
        _metadata(sort_by_name(values), None, misplaced)
    unknown.extend(f"metadata.{path}" for path in misplaced)
    if values is whole:
        return metadata
    result: Document = whole.copy()
    for key in values:
        del result[key]
    result.update(metadata)
    return result
