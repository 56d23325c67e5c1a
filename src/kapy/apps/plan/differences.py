"""The differences between two snapshots: created, changed and deleted objects, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import repeat
from typing import Any, Final

from kapy.apps.plan.snapshot import Name, Snapshot
from kapy.kube import Document
from kapy.kube.apply.last_applied import ANNOTATION as LAST_APPLIED


class Verb(Enum):
    """The predicted change of an object: its creation, update or deletion."""

    CREATE = "create"
    CHANGE = "change"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """The change of one field of an object. path: the JSON pointer of the field. before, after: the
    values of the field, None if it has none.

    causes: the patches, variables or templates that caused the change, if known.
    """

    path: str
    before: Any
    after: Any
    causes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """The creation, change or deletion of one object.

    after: the new state of the object (if created or changed). replaces: for a template, the name
    of the template that it replaces; `fields` is then the difference between both. patches: the
    patch of the class that made each change, by path.
    """

    verb: Verb
    name: Name
    api_version: str
    fields: tuple[FieldChange, ...] = ()
    after: Document = field(default_factory=dict)
    replaces: str = ""
    patches: Mapping[str, str] = field(default_factory=dict)


def changes(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    """Every object that differs, sorted by kind and name. Values of Secrets are left out.

    An object that is being deleted counts as deleted, although finalizers may hold it. Status and
    bookkeeping metadata are ignored.
    """
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        api_version = ((new or old) or {})["apiVersion"]
        if old is None and new is not None:
            yield Change(Verb.CREATE, name, api_version, after=_comparable(new))
        elif old is not None and (new is None or _begins_deletion(old, new)):
            yield Change(Verb.DELETE, name, api_version)
        elif old is not None and new is not None:
            results = tuple(
                map(
                    _mask_secret, field_changes(compared_part(old), compared_part(new)), repeat(new)
                )
            )
            if results:
                yield Change(Verb.CHANGE, name, api_version, results, _comparable(new))


def _comparable(document: Document) -> Document:
    if not _is_secret(document):
        return document
    hidden: Document = {
        part: dict.fromkeys(document[part], HIDDEN_VALUE) for part in _SECRET if part in document
    }
    return {**document, **hidden}


def _mask_secret(change: FieldChange, document: Document) -> FieldChange:
    if not _is_secret(document) or change.path.split("/")[1] not in _SECRET:
        return change
    before = None if change.before is None else f"{HIDDEN_VALUE} (before)"
    return replace(
        change, before=before, after=None if change.after is None else f"{HIDDEN_VALUE} (after)"
    )


def _is_secret(document: Document) -> bool:
    return bool(document["apiVersion"] == "v1" and document["kind"] == "Secret")


HIDDEN_VALUE: Final = "***"
_SECRET: Final = ("data", "stringData")


def compared_part(document: Document) -> Document:
    """Return the compared part of an object: labels, annotations, owners and spec.

    Bookkeeping annotations of controllers and kubectl are left out.
    """
    metadata = {key: value for key, value in document["metadata"].items() if key in _METADATA}
    notes = {
        key: value
        for key, value in metadata.pop("annotations", {}).items()
        if not key.startswith(_BOOKKEEPING) and key != LAST_APPLIED
    }
    if notes:
        metadata["annotations"] = notes
    rest = {key: value for key, value in document.items() if key not in _IGNORED_FIELDS}
    return {"metadata": metadata, **rest}


_METADATA: Final = ("labels", "annotations", "ownerReferences")
_BOOKKEEPING: Final = "topology.internal.cluster.x-k8s.io/"
_IGNORED_FIELDS: Final = ("metadata", "status", "apiVersion", "kind")


def field_changes(before: Any, after: Any, path: str = "") -> Iterator[FieldChange]:
    """The smallest differing fields; lists are compared item by item only if their lengths are
    equal."""
    if before == after:
        return
    pairs = _value_pairs(before, after)
    if pairs is None:
        yield FieldChange(path, before, after)
        return
    for key, (old, new) in pairs.items():
        yield from field_changes(old, new, f"{path}/{_escape(key)}")


def _value_pairs(before: Any, after: Any) -> Mapping[str, tuple[Any, Any]] | None:
    if isinstance(before, dict) and isinstance(after, dict):
        names = [*before, *(name for name in after if name not in before)]
        return {name: (before.get(name), after.get(name)) for name in names}
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = zip(before, after, strict=True)
        return {str(number): pair for number, pair in enumerate(pairs)}
    return None


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _begins_deletion(before: Document, after: Document) -> bool:
    going = "deletionTimestamp"
    return going in after["metadata"] and going not in before["metadata"]
