"""Objects that kube-apiserver would have stored without some of their defaults.

A write through another than the storage version is converted for storage. kube-apiserver then
stores the object without the defaults of the storage version and adds them on reads; this server
adds them before it stores. kube-apiserver therefore stores such an object once more at the next
write without changes. This server does the same and remembers these objects for it: the newest
ones, in memory.
"""

from __future__ import annotations

from typing import Final

from kapy.kube import Document

_MOST: Final = 4096


class UndefaultedObjects:
    """The resourceVersions of these objects by table, namespace and name."""

    __slots__ = ("_revisions",)

    def __init__(self) -> None:
        self._revisions: dict[tuple[str, str, str], str] = {}

    def add(self, table: str, document: Document) -> None:
        """Remember an object that was just stored."""
        key = _key(table, document)
        self._revisions.pop(key, None)
        if len(self._revisions) >= _MOST:
            del self._revisions[next(iter(self._revisions))]
        self._revisions[key] = document["metadata"]["resourceVersion"]

    def contains(self, table: str, document: Document) -> bool:
        """Report whether the object was stored without defaults and is unchanged since."""
        if not self._revisions:
            return False
        revision: str = document["metadata"]["resourceVersion"]
        return self._revisions.get(_key(table, document)) == revision


def _key(table: str, document: Document) -> tuple[str, str, str]:
    meta = document["metadata"]
    return table, meta.get("namespace", ""), meta["name"]
