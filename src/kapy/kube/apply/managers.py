"""Entries of `metadata.managedFields`, and the write that changes them.

An entry records the manager, its fields, the time, and the subresource of the write.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

from kapy.kube import Document
from kapy.kube.apply.fields import Fields, InvalidFields, decode, union

_MAX_UPDATERS: Final = 10
"""How many entries of updates one object keeps; the oldest become one."""
_ANCIENT_MANAGER: Final = "ancient-changes"
_TEXTS: Final = ("manager", "apiVersion", "time", "subresource")


class Write(Struct):
    """One write as ownership sees it.

    manager: `fieldManager`, or what the User-Agent says before its first slash. api_version: the
    version of the request (the documents given are in this version). time: RFC 3339 in seconds.
    subresource: "" for the object itself. reset: top-level fields that this endpoint ignores, as
    FieldsV1 ({"f:status": {}} for the object of a kind with a status subresource, {"f:metadata":
    {}, "f:spec": {}} for its status).
    """

    manager: str
    api_version: str
    time: str
    subresource: str = ""
    reset: Document | None = None

    def identity(self, *, applies: bool) -> Identity:
        version = "" if applies else self.api_version
        return Identity(self.manager, applies, self.subresource, version)


# Identities and entries are made for each write: as Structs in C, several times as fast as
# dataclasses.


class Identity(Struct, frozen=True):
    """The identity of a managedFields entry; that of an applier does not depend on its
    apiVersion.
    """

    manager: str
    applies: bool
    subresource: str
    api_version: str

    def display_name(self) -> str:
        """Return the name of the manager in conflict messages."""
        name = json.dumps(self.manager, ensure_ascii=False)
        if self.subresource:
            name = f'{name} with subresource "{self.subresource}"'
        return name if self.applies else f"{name} using {self.api_version}"

    def order(self) -> str:
        """Return the sort key; entries are sorted like kube-apiserver's encoded identities."""
        parts = {
            "manager": self.manager,
            "operation": "Apply" if self.applies else "Update",
            "apiVersion": "" if self.applies else self.api_version,
            "subresource": self.subresource,
        }
        return json.dumps({key: value for key, value in parts.items() if value})


class ManagedEntry(Struct, frozen=True):
    """One entry of managedFields. document: the entry as it was read, while it is unchanged."""

    api_version: str
    fields: Fields
    time: str | None
    document: Document | None = None

    def with_fields(self, fields: Fields) -> ManagedEntry:
        """Return the entry with other fields and the same time."""
        return self if fields is self.fields else ManagedEntry(self.api_version, fields, self.time)


Managers = dict[Identity, ManagedEntry]


def read(entries: Iterable[Document]) -> Managers:
    """Parse the managedFields of a stored object."""
    return {
        identity(entry): ManagedEntry(
            entry["apiVersion"], entry.get("fieldsV1") or {}, entry.get("time"), entry
        )
        for entry in entries
    }


def identity(entry: Document) -> Identity:
    """Return the identity of a managedFields entry."""
    applies = entry["operation"] == "Apply"
    return Identity(
        entry.get("manager", ""),
        applies,
        entry.get("subresource", ""),
        "" if applies else entry["apiVersion"],
    )


def parse_entries(entries: Any) -> Managers | None:
    """Parse the managedFields that a client sent; return None if they are invalid."""
    managers: Managers = {}
    try:
        for entry in entries:
            if entry.get("operation") not in ("Apply", "Update") or not entry.get("apiVersion"):
                return None
            if entry.get("fieldsType") != "FieldsV1":
                return None
            if not all(isinstance(entry.get(name) or "", str) for name in _TEXTS):
                return None
            fields = decode(entry.get("fieldsV1") or {})
            managers[identity(entry)] = ManagedEntry(entry["apiVersion"], fields, entry.get("time"))
    except (InvalidFields, AttributeError, TypeError):
        return None
    return managers


def encode_entries(managers: Managers) -> list[Document]:
    """Return managedFields entries in kube-apiserver's order."""
    entries = [_entry(key, owned) for key, owned in managers.items()]
    entries.sort(key=_entry_order)
    return entries


def _entry_order(entry: Document) -> tuple[str, str, str, str, str]:
    return (
        entry["operation"],
        entry.get("time") or "",
        entry.get("manager", ""),
        entry["apiVersion"],
        entry.get("subresource", ""),
    )


def _entry(identity: Identity, owned: ManagedEntry) -> Document:
    if owned.document is not None:
        return owned.document
    entry: Document = {"manager": identity.manager} if identity.manager else {}
    entry["operation"] = "Apply" if identity.applies else "Update"
    entry["apiVersion"] = owned.api_version
    if owned.time:
        entry["time"] = owned.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = owned.fields
    if identity.subresource:
        entry["subresource"] = identity.subresource
    return entry


def cap(managers: Managers) -> None:
    """Merge the oldest update entries of a version until the number is within the limit."""
    updaters = [manager for manager in managers if not manager.applies]
    surplus = len(updaters) - _MAX_UPDATERS
    if surplus <= 0:
        return
    updaters.sort(key=lambda value: (managers[value].time or "", value.order()))
    first_of_version: dict[str, Identity] = {}
    for updater in updaters:
        if surplus <= 0:
            return
        owned = managers[updater]
        first = first_of_version.setdefault(owned.api_version, updater)
        if first is updater:
            continue
        bucket = Identity(
            _ANCIENT_MANAGER, applies=False, subresource="", api_version=owned.api_version
        )
        if bucket not in managers:
            managers[bucket] = managers.pop(first)
        fields = union(managers[bucket].fields, owned.fields)
        del managers[updater]
        managers[bucket] = ManagedEntry(owned.api_version, fields, owned.time)
        surplus -= 1
