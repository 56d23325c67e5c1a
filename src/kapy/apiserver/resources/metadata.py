"""`metadata`: server-set fields, immutable fields, and validation."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Hashable
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from kapy.apiserver.resources.kind import Kind
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, FieldErrors, FixedText, forbidden, invalid, required
from kapy.kube.go_literals import go_quoted
from kapy.kube.names import path_segment_errors
from kapy.kube.qualified_names import label_value_errors, qualified_name_errors

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_PREFIX = 58
ANNOTATIONS_LIMIT = 256 * 1024
IMMUTABLE = "field is immutable"
CORE_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")


def format_time(now: datetime) -> str:
    """Return a time in the format of metadata."""
    return _format_second(now.timestamp() // 1)


@lru_cache(maxsize=4)
def _format_second(moment: float) -> str:
    # Cached: each write needs it twice, and many writes share one second.
    return f"{datetime.fromtimestamp(moment, UTC).isoformat()[:19]}Z"


_FREE = ~(0xF000 << 64 | 0xC000 << 48)
_VERSION_4 = 0x4000 << 64 | 0x8000 << 48


def new_uid(rng: random.Random) -> str:
    """Return a new UID (UUID version 4), without the cost of a UUID object."""
    digits = f"{rng.getrandbits(128) & _FREE | _VERSION_4:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def generate_name(prefix: str, rng: random.Random) -> str:
    """Return a name for a generateName.

    It consists of the prefix, cut to leave room, and five random characters.
    """
    return prefix[:_PREFIX] + "".join(rng.choices(_ALPHABET, k=5))


def strip_system_fields(document: Document) -> None:
    """Remove server-set fields from a new object before admission sees it."""
    metadata = document["metadata"]
    for field in metadata.keys() & _SYSTEM:
        del metadata[field]


_SYSTEM = frozenset(
    ("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "selfLink", "uid")
)


def init_metadata(
    document: Document, kind: Kind, namespace: str, now: datetime, rng: random.Random
) -> None:
    """Set the server-set fields of a new object."""
    metadata = document["metadata"]
    metadata.pop("resourceVersion", None)
    if kind.namespaced:
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)
    metadata["uid"] = new_uid(rng)
    metadata["creationTimestamp"] = format_time(now)
    if kind.strategy.generation:
        metadata["generation"] = 1


_KEPT = ("creationTimestamp", "generation")


def preserve_immutable(document: Document, old: Document, *, uid: bool = True) -> None:
    """Restore immutable fields of an updated object (and its uid if `uid` is set)."""
    metadata, before = document["metadata"], old["metadata"]
    metadata.pop("selfLink", None)
    if uid or not metadata.get("uid"):
        metadata["uid"] = before["uid"]
    for field in _KEPT:
        if field in before:
            metadata[field] = before[field]
        else:
            metadata.pop(field, None)
    if "namespace" in before:
        metadata["namespace"] = before["namespace"]
    else:
        metadata.pop("namespace", None)
    if "deletionTimestamp" in before:
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    grace = "deletionGracePeriodSeconds"
    if grace in before and metadata.get(grace) is None:
        metadata[grace] = before[grace]


_NEW: Document = {}
"""The empty old metadata for the validation of a new object."""


def metadata_errors(document: Document, kind: Kind) -> list[FieldError]:
    """Return the errors of a new object's metadata."""
    metadata, field_errors = document["metadata"], FieldErrors()
    _check_name(metadata, kind.strategy.name_errors, field_errors)
    _check_fields(
        metadata, _NEW, field_errors, _shared_errors(metadata), custom=_any_finalizer(kind)
    )
    return field_errors


def metadata_update_errors(
    document: Document, old: Document, kind: Kind, *, subresource: bool
) -> list[FieldError]:
    """Return the errors of a changed object's metadata.

    kube-apiserver validates metadata generically and then for the kind, and reports errors of both.
    Fields equal to the stored ones are not validated again.
    """
    metadata, before, field_errors = document["metadata"], old["metadata"], FieldErrors()
    custom = _any_finalizer(kind)
    renamed = _values(metadata, _NAMES) != _values(before, _NAMES)
    if renamed:
        _check_name(metadata, path_segment_errors, field_errors)
    shared, parts, changes = FieldErrors(), FieldErrors(), FieldErrors()
    _check_shared(metadata, before, shared)
    _check_fields(metadata, before, parts, shared, custom=True)
    _check_changes(metadata, before, changes)
    if parts or changes or shared:
        changes += shared
        field_errors += parts
        field_errors += changes
    looks, compared = (
        kind.strategy.status_metadata_checks if subresource else kind.strategy.metadata_checks
    )
    finalizers = [] if custom else metadata.get("finalizers") or []
    if finalizers == before.get("finalizers"):
        finalizers = []
    if looks and (renamed or parts or finalizers):
        again = FieldErrors()
        if renamed:
            _check_name(metadata, kind.strategy.name_errors, again)
        _check_fields(metadata, before, again, shared, custom=not finalizers)
        field_errors += again * looks
    if compared and (changes or finalizers):
        field_errors += [*changes, *_standard_errors(finalizers)] * compared
    return field_errors


_NAMES = ("name", "generateName")


def _values(metadata: Document, fields: tuple[str, ...]) -> list[Any]:
    """Return the values of some fields, None for absent ones.

    This is called twice per update and therefore has no loop in Python.
    """
    return list(map(metadata.get, fields))


def _any_finalizer(kind: Kind) -> bool:
    return not kind.strategy.qualified_finalizers


def _check_name(
    metadata: Document, wrong: Callable[..., list[str]], field_errors: FieldErrors
) -> None:
    prefix, name = metadata.get("generateName"), metadata.get("name", "")
    if prefix:
        for text in wrong(prefix, prefix=True):
            field_errors.append(invalid("metadata.generateName", prefix, text))
    if name:
        for text in wrong(name):
            field_errors.append(invalid("metadata.name", name, text))
    else:
        field_errors.append(required("metadata.name", "name or generateName is required"))


def _check_fields(
    metadata: Document,
    before: Document,
    field_errors: FieldErrors,
    shared: FieldErrors,
    *,
    custom: bool,
) -> None:
    if metadata.get("generation", 0) < 0:
        field_errors.append(invalid("metadata.generation", metadata["generation"], _NOT_NEGATIVE))
    if shared:
        field_errors += shared
    finalizers = metadata.get("finalizers")
    if finalizers and finalizers != before.get("finalizers"):
        field_errors += _finalizer_errors(finalizers)
        if not custom:
            field_errors += _standard_errors(finalizers)


def _shared_errors(metadata: Document) -> FieldErrors:
    field_errors = FieldErrors()
    _check_shared(metadata, _NEW, field_errors)
    return field_errors


def _check_shared(metadata: Document, before: Document, field_errors: FieldErrors) -> None:
    """Validate the fields that creates and updates have in common."""
    for field, wrong in _SHARED:
        value, was = metadata.get(field), before.get(field)
        if value and value is not was and value != was:
            wrong(value, f"metadata.{field}", field_errors)


def embedded_metadata_errors(metadata: object, path: str) -> list[FieldError]:
    """Return the errors of the metadata of an embedded object in a custom resource."""
    if not isinstance(metadata, dict):
        return []
    invalids = [
        invalid(f"{path}.{field}", name, text)
        for field in ("generateName", "name")
        for name in (metadata.get(field) or "",)
        for text in path_segment_errors(name, prefix=field == "generateName")
    ]
    parts = FieldErrors()
    _check_fields(metadata, _NEW, parts, _shared_errors(metadata), custom=True)
    moved = [replace(part, field=path + part.field.removeprefix("metadata")) for part in parts]
    return invalids + moved


_MANAGER_LIMIT = 128


def _check_managed(entries: list[Document], where: str, field_errors: FieldErrors) -> None:
    for index, entry in enumerate(entries):
        if entry.get("operation") not in ("Apply", "Update"):
            wrong = entry.get("operation", "")
            field_errors.append(
                invalid(f"{where}[{index}].operation", wrong, "must be `Apply` or `Update`")
            )
        if entry.get("fieldsType", "") not in ("", "FieldsV1"):
            wrong = entry["fieldsType"]
            field_errors.append(
                invalid(f"{where}[{index}].fieldsType", wrong, "must be `FieldsV1`")
            )
        # A character has four bytes at most, so most names are surely short enough.
        if 4 * len(entry.get("manager", "") + entry.get("subresource", "")) > _MANAGER_LIMIT:
            _check_names(entry, f"{where}[{index}]", field_errors)


def _check_names(entry: Document, where: str, field_errors: FieldErrors) -> None:
    for field in ("manager", "subresource"):
        if len(entry.get(field, "").encode()) > _MANAGER_LIMIT:
            text = f"may not be more than {_MANAGER_LIMIT} bytes"
            field_errors.append(FieldError("FieldValueTooLong", f"{where}.{field}", text))


def deduplicate_owners(document: Document, *, patched: bool = False) -> list[str]:
    """Remove duplicate owner references; return the warning about them.

    patched: the object comes from a patch, for which kube-apiserver checks this later.
    """
    owners = document["metadata"].get("ownerReferences")
    if not owners or len(owners) == 1:
        return []
    by_reference: dict[Hashable, Document] = {}
    again: list[str] = []
    for owner in owners:
        key = frozenset(owner.items())
        if key in by_reference:
            again.append(owner.get("uid", ""))
        by_reference.setdefault(key, owner)
    if not again:
        return []
    document["metadata"]["ownerReferences"] = list(by_reference.values())
    when = " after mutating admission happens" if patched else ""
    return [
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner "
        "references in 1.20+, and may reject such requests as early as 1.24; please fix your "
        f"requests; duplicate UID(s) observed: {', '.join(dict.fromkeys(again))}"
    ]


_FIXED = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_NOT_NEGATIVE = "must be greater than or equal to 0"


def label_errors(labels: dict[str, str], path: str) -> list[FieldError]:
    """Return the validation errors of labels."""
    field_errors = FieldErrors()
    _check_labels(labels, path, field_errors)
    return field_errors


def _check_labels(labels: dict[str, str], path: str, field_errors: FieldErrors) -> None:
    for key, value in labels.items():
        for text in qualified_name_errors(key):
            field_errors.append(invalid(path, key, text))
        for text in label_value_errors(value):
            field_errors.append(invalid(path, value, text))


def annotation_errors(annotations: dict[str, str], path: str) -> list[FieldError]:
    """Return the validation errors of annotations."""
    field_errors = FieldErrors()
    _check_annotations(annotations, path, field_errors)
    return field_errors


def _check_annotations(annotations: dict[str, str], path: str, field_errors: FieldErrors) -> None:
    size = 0
    for key, value in annotations.items():
        for text in qualified_name_errors(key.lower()):
            field_errors.append(invalid(path, key, text))
        size += len(key) + len(value)
    if size > ANNOTATIONS_LIMIT // 4:  # a character has four bytes at most
        size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > ANNOTATIONS_LIMIT:
        field_errors.append(
            FieldError("FieldValueTooLong", path, f"may not be more than {ANNOTATIONS_LIMIT} bytes")
        )


def _check_owners(owners: list[Document], path: str, field_errors: FieldErrors) -> None:
    controller = ""
    for owner in owners:
        version = owner.get("apiVersion", "")
        if version.count("/") > 1 or not version.rpartition("/")[2]:
            field_errors.append(invalid(f"{path}.apiVersion", version, "version must not be empty"))
        for field in ("kind", "name", "uid"):
            if not owner.get(field):
                field_errors.append(
                    invalid(f"{path}.{field}", owner.get(field, ""), "must not be empty")
                )
        if (version, owner.get("kind")) == ("v1", "Event"):
            text = "/v1, Kind=Event is disallowed from being an owner"
            result = {key: owner[key] for key in _OWNER_FIELDS if key in owner}
            field_errors.append(invalid(path, FixedText.of(result), text))
        if owner.get("controller"):
            name = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                field_errors.append(
                    FieldError(
                        "FieldValueInvalid",
                        path,
                        _two_controllers_message(owners, controller, name),
                    )
                )
            controller = controller or name


_SHARED: tuple[tuple[str, Callable[[Any, str, FieldErrors], None]], ...] = (
    ("labels", _check_labels),
    ("annotations", _check_annotations),
    ("ownerReferences", _check_owners),
    ("managedFields", _check_managed),
)


_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def _two_controllers_message(owners: list[Document], value: str, two: str) -> str:
    """Return the message about two controllers, with the references in Go's field order."""
    result = [{key: owner[key] for key in _OWNER_FIELDS if key in owner} for owner in owners]
    return (
        f"{json.dumps(result, separators=(',', ':'))}: Only one reference can have Controller set "
        f'to true. Found "true" in references for {value} and {two}'
    )


def _finalizer_errors(finalizers: list[str]) -> list[FieldError]:
    path = "metadata.finalizers"
    invalids = [
        invalid(path, finalizer, text)
        for finalizer in finalizers
        for text in qualified_name_errors(finalizer)
    ]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        invalids.append(invalid(path, finalizers, text))
    return invalids


def _standard_errors(finalizers: list[str]) -> list[FieldError]:
    """Return errors for finalizers of built-in kinds without a domain."""
    text = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(f"metadata.finalizers[{index}]", finalizer, text)
        for index, finalizer in enumerate(finalizers)
        if not is_qualified_finalizer(finalizer)
    ]


def is_qualified_finalizer(finalizer: str) -> bool:
    """Report whether a finalizer has a domain or is one of Kubernetes' own."""
    return "/" in finalizer or finalizer in CORE_FINALIZERS


def finalizer_warnings(document: Document, old: Document | None) -> list[str]:
    """Return warnings about new finalizers of a custom resource without a domain."""
    finalizers = document["metadata"].get("finalizers")
    if not finalizers:
        return []
    before = () if old is None else old["metadata"].get("finalizers") or ()
    return [
        f"metadata.finalizers: {go_quoted(finalizer)}: prefer a domain-qualified finalizer name "
        f"{'including a path (/) ' if '.' in finalizer else ''}to avoid accidental conflicts with "
        "other finalizer writers"
        for finalizer in sorted({*finalizers} - {*before})
        if not is_qualified_finalizer(finalizer)
    ]


def _check_changes(metadata: Document, before: Document, field_errors: FieldErrors) -> None:
    """Validate the changes of immutable metadata."""
    if _values(metadata, _FIXED) != _values(before, _FIXED):
        for field in _FIXED:
            if metadata.get(field) != before.get(field):
                field_errors.append(invalid(f"metadata.{field}", metadata.get(field), IMMUTABLE))
    if before.get("deletionTimestamp"):
        added = set(metadata.get("finalizers") or ()) - set(before.get("finalizers") or ())
        if added:
            field_errors.append(
                forbidden(
                    "metadata.finalizers",
                    "no new finalizers can be added if the object is being deleted, "
                    "found new finalizers "
                    f"[]string{{{', '.join(_quote_go(item) for item in sorted(added))}}}",
                )
            )
    if metadata.get("generation", 0) < before.get("generation", 0):
        wrong = metadata.get("generation", 0)
        field_errors.append(invalid("metadata.generation", wrong, "must not be decremented"))


def _quote_go(text: str) -> str:
    return f'"{text}"'
