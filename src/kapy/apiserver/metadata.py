"""`metadata`: what the server sets, what it protects, and what is wrong with it."""

from __future__ import annotations

import json
import random
from collections.abc import Hashable
from datetime import datetime

from kapy.apiserver.resources.kind import Kind
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, FieldErrors, Shown, forbidden, invalid, required
from kapy.kube.qualified_names import label_value_errors, qualified_name_errors

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_PREFIX = 58
ANNOTATIONS_LIMIT = 256 * 1024
IMMUTABLE = "field is immutable"
CORE_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")


def stamp(now: datetime) -> str:
    """A moment as metadata carries it."""
    return f"{now.isoformat()[:19]}Z"


_FREE = ~(0xF000 << 64 | 0xC000 << 48)
_VERSION_4 = 0x4000 << 64 | 0x8000 << 48


def new_uid(rng: random.Random) -> str:
    """A fresh UID: a UUID of version 4, without the detour over an object."""
    digits = f"{rng.getrandbits(128) & _FREE | _VERSION_4:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def generated_name(prefix: str, rng: random.Random) -> str:
    """A name from a generateName: cut to leave room, and five characters."""
    return prefix[:_PREFIX] + "".join(rng.choices(_ALPHABET, k=5))


def wiped(document: Document) -> None:
    """Drop from a new object what only the server may set, before anybody looks at it."""
    metadata = document["metadata"]
    for field in _SYSTEM:
        metadata.pop(field, None)


_SYSTEM = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "selfLink",
    "uid",
)


def born(document: Document, kind: Kind, namespace: str, now: datetime, rng: random.Random) -> None:
    """Set on a new object what only the server may."""
    metadata = document["metadata"]
    metadata.pop("resourceVersion", None)
    if kind.namespaced:
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)
    metadata["uid"] = new_uid(rng)
    metadata["creationTimestamp"] = stamp(now)
    if kind.strategy.generation:
        metadata["generation"] = 1


_KEPT = ("creationTimestamp", "generation")
_GRACE = "deletionGracePeriodSeconds"


def carried(document: Document, old: Document, *, uid: bool = True) -> None:
    """Put back on an updated object what a client cannot change (and its uid, if it may)."""
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
    if _GRACE in before:
        metadata.setdefault(_GRACE, before[_GRACE])
    if "deletionTimestamp" in before and not metadata.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = before["deletionTimestamp"]


def errors(document: Document, kind: Kind, *, update: bool = False) -> list[FieldError]:
    """What is wrong with the metadata of an object.

    kube-apiserver looks at an update two or three times, and lists what it finds each time.
    """
    metadata = document["metadata"]
    found: list[FieldError] = FieldErrors()
    prefix = metadata.get("generateName")
    if prefix and not (update and kind.custom):
        found += [
            invalid("metadata.generateName", prefix, text)
            for text in kind.strategy.name_errors(prefix, prefix=True)
        ]
    name = metadata.get("name", "")
    if not name:
        found.append(required("metadata.name", "name or generateName is required"))
    else:
        found += [invalid("metadata.name", name, text) for text in kind.strategy.name_errors(name)]
    looks = kind.strategy.looks if update else 1
    again = looks + 2 if update else 1
    found += _part_errors(metadata) * again
    return found + _own_errors(metadata, custom=kind.custom) * looks


def _part_errors(metadata: Document) -> list[FieldError]:
    found: list[FieldError] = FieldErrors()
    labels = metadata.get("labels")
    if labels:
        found += label_errors(labels, "metadata.labels")
    annotations = metadata.get("annotations")
    if annotations:
        found += annotation_errors(annotations, "metadata.annotations")
    if metadata.get("ownerReferences"):
        found += _owner_errors(metadata["ownerReferences"])
    if metadata.get("managedFields"):
        found += _managed_errors(metadata["managedFields"])
    return found


def _own_errors(metadata: Document, *, custom: bool) -> list[FieldError]:
    """What is wrong apart from a change."""
    found: list[FieldError] = []
    if metadata.get("generation", 0) < 0:
        found.append(invalid("metadata.generation", metadata["generation"], _NOT_NEGATIVE))
    if metadata.get("finalizers"):
        found += _finalizer_errors(metadata["finalizers"], custom=custom)
    return found


_MANAGER_LIMIT = 128


def _managed_errors(entries: list[Document]) -> list[FieldError]:
    found: list[FieldError] = FieldErrors()
    for index, entry in enumerate(entries):
        path = f"metadata.managedFields[{index}]"
        if entry.get("operation") not in ("Apply", "Update"):
            wrong = entry.get("operation", "")
            found.append(invalid(f"{path}.operation", wrong, "must be `Apply` or `Update`"))
        if entry.get("fieldsType", "") not in ("", "FieldsV1"):
            found.append(invalid(f"{path}.fieldsType", entry["fieldsType"], "must be `FieldsV1`"))
        for field in ("manager", "subresource"):
            if len(entry.get(field, "").encode()) > _MANAGER_LIMIT:
                text = f"may not be more than {_MANAGER_LIMIT} bytes"
                found.append(FieldError("FieldValueTooLong", f"{path}.{field}", text))
    return found


def without_repeated_owners(document: Document, *, patched: bool = False) -> list[str]:
    """Drop owner references that stand twice; returns the warning about it.

    patched: they come from a patch, which kube-apiserver looks at later than at other writes.
    """
    owners = document["metadata"].get("ownerReferences")
    if not owners or len(owners) == 1:
        return []
    known: dict[Hashable, Document] = {}
    again: list[str] = []
    for owner in owners:
        key = frozenset(owner.items())
        if key in known:
            again.append(owner.get("uid", ""))
        known.setdefault(key, owner)
    if not again:
        return []
    document["metadata"]["ownerReferences"] = list(known.values())
    when = " after mutating admission happens" if patched else ""
    return [
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner "
        "references in 1.20+, and may reject such requests as early as 1.24; please fix your "
        f"requests; duplicate UID(s) observed: {', '.join(dict.fromkeys(again))}"
    ]


_NOT_NEGATIVE = "must be greater than or equal to 0"


def label_errors(labels: dict[str, str], path: str) -> list[FieldError]:
    """What is wrong with labels."""
    found: list[FieldError] = FieldErrors()
    for key, value in labels.items():
        found += [invalid(path, key, text) for text in qualified_name_errors(key)]
        found += [invalid(path, value, text) for text in label_value_errors(value)]
    return found


def annotation_errors(annotations: dict[str, str], path: str) -> list[FieldError]:
    """What is wrong with annotations."""
    found: list[FieldError] = FieldErrors()
    for key in annotations:
        found += [invalid(path, key, text) for text in qualified_name_errors(key.lower())]
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > ANNOTATIONS_LIMIT:
        found.append(
            FieldError("FieldValueTooLong", path, f"may not be more than {ANNOTATIONS_LIMIT} bytes")
        )
    return found


def _owner_errors(owners: list[Document]) -> list[FieldError]:
    found: list[FieldError] = FieldErrors()
    path = "metadata.ownerReferences"
    controller = ""
    for owner in owners:
        version = owner.get("apiVersion", "")
        if version.count("/") > 1 or not version.rpartition("/")[2]:
            found.append(invalid(f"{path}.apiVersion", version, "version must not be empty"))
        for field in ("kind", "name", "uid"):
            if not owner.get(field):
                found.append(invalid(f"{path}.{field}", owner.get(field, ""), "must not be empty"))
        if (version, owner.get("kind")) == ("v1", "Event"):
            text = "/v1, Kind=Event is disallowed from being an owner"
            shown = {key: owner[key] for key in _OWNER_FIELDS if key in owner}
            found.append(invalid(path, Shown.of(shown), text))
        if owner.get("controller"):
            name = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                found.append(
                    FieldError("FieldValueInvalid", path, _twice(owners, controller, name))
                )
            controller = controller or name
    return found


_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def _twice(owners: list[Document], one: str, two: str) -> str:
    """The sentence about two controllers; the references are shown in Go's order of fields."""
    shown = [{key: owner[key] for key in _OWNER_FIELDS if key in owner} for owner in owners]
    return (
        f"{json.dumps(shown, separators=(',', ':'))}: Only one reference can have Controller set "
        f'to true. Found "true" in references for {one} and {two}'
    )


def _finalizer_errors(finalizers: list[str], *, custom: bool) -> list[FieldError]:
    found: list[FieldError] = FieldErrors()
    path = "metadata.finalizers"
    for finalizer in finalizers:
        found += [invalid(path, finalizer, text) for text in qualified_name_errors(finalizer)]
    if not custom:
        text = "name is neither a standard finalizer name nor is it fully qualified"
        found += (
            invalid(f"{path}[{index}]", finalizer, text)
            for index, finalizer in enumerate(finalizers)
            if not well_named(finalizer)
        )
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        found.append(
            invalid(
                path,
                finalizers,
                "finalizer orphan and foregroundDeletion cannot be both set",
            )
        )
    return found


def well_named(finalizer: str) -> bool:
    """Whether a finalizer has a domain, or is one of Kubernetes' own."""
    return "/" in finalizer or finalizer in CORE_FINALIZERS


def finalizer_warnings(document: Document) -> list[str]:
    """Finalizers of custom resources that may clash with others."""
    return [
        f'metadata.finalizers: "{one}": prefer a domain-qualified finalizer name to avoid '
        "accidental conflicts with other finalizer writers"
        for one in document["metadata"].get("finalizers") or ()
        if not well_named(one)
    ]


def change_errors(document: Document, old: Document) -> list[FieldError]:
    """What a change of metadata may not do."""
    metadata, before = document["metadata"], old["metadata"]
    found: list[FieldError] = FieldErrors()
    for field in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", _GRACE):
        if metadata.get(field) != before.get(field):
            found.append(invalid(f"metadata.{field}", metadata.get(field), IMMUTABLE))
    if before.get("deletionTimestamp"):
        added = set(metadata.get("finalizers") or ()) - set(before.get("finalizers") or ())
        if added:
            found.append(
                forbidden(
                    "metadata.finalizers",
                    "no new finalizers can be added if the object is being deleted, found new "
                    f"finalizers []string{{{', '.join(_go_quoted(one) for one in sorted(added))}}}",
                )
            )
    return found * 2  # kube-apiserver looks twice, and lists both


def _go_quoted(text: str) -> str:
    return f'"{text}"'
