"""All objects of a management cluster at one moment, found by kind, name and owner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from kapy.kube import Document, Key
from kapy.kube.meta import Object, read
from kapy.kube.names import GroupKind


class Name(NamedTuple):
    """Kind and key of an object."""

    kind: GroupKind
    key: Key

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.key}"


Snapshot = Mapping[Name, Document]
"""Objects of custom kinds, each in the version that it is stored in."""


O = TypeVar("O", bound=Object)  # noqa: E741


class Objects:
    """One snapshot; our own kinds are decoded once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._decoded: dict[type[Object], dict[Key, Any]] = {}
        self._owned: dict[str, list[Name]] = {}
        for name, document in snapshot.items():
            for owner in document["metadata"].get("ownerReferences") or ():
                self._owned.setdefault(owner["uid"], []).append(name)

    def all(self, kind: type[O]) -> Iterable[O]:
        """All objects of a kind."""
        return self._of(kind).values()

    def get(self, kind: type[O], key: Key) -> O | None:
        """Return one object of a kind."""
        return self._of(kind).get(key)

    def document(self, name: Name) -> Document | None:
        """Return one object of any kind, as it is stored."""
        return self.snapshot.get(name)

    def controlled(self, kind: type[O], owner: Object) -> list[O]:
        """Return the objects of a kind whose controller is this object."""
        wanted, there = kind_of(kind), self._of(kind)
        return [
            there[name.key]
            for name in self._owned.get(owner.metadata.uid, ())
            if name.kind == wanted and _controls(self.snapshot[name], owner.metadata.uid)
        ]

    def with_owned(self, documents: Iterable[Document]) -> list[Document]:
        """Return the objects with all dependents that are garbage-collected with them, dependents
        first.
        """
        result: dict[str, Document] = {}
        todo = list(documents)
        while todo:
            document = todo.pop()
            uid = document["metadata"]["uid"]
            if uid not in result:
                result[uid] = document
                todo += (self.snapshot[name] for name in self._owned.get(uid, ()))
        return list(result.values())[::-1]

    def _of(self, kind: type[O]) -> dict[Key, O]:
        result = self._decoded.get(kind)
        if result is None:
            wanted = kind_of(kind)
            result = self._decoded[kind] = {
                name.key: read(document, kind)
                for name, document in self.snapshot.items()
                if name.kind == wanted
            }
        return result


def kind_of(kind: type[Object]) -> GroupKind:
    """Group and kind of one of our types."""
    return GroupKind(kind.RESOURCE.group, kind.RESOURCE.kind)


def name_of(obj: Object) -> Name:
    """Return the name of an object in a plan."""
    return Name(kind_of(type(obj)), obj.key)


def _controls(document: Document, uid: str) -> bool:
    owners = document["metadata"].get("ownerReferences") or ()
    return any(owner["uid"] == uid and owner.get("controller") for owner in owners)
