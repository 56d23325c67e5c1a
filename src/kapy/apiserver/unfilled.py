"""Objects that kube-apiserver would have stored without some of their defaults.

What is written through another version than the stored one is converted, and stored as it then is:
the defaults of the storage version are filled in when it is read. This server fills them in before
it stores. So kube-apiserver stores such an object once more with the next write that changes
nothing, and so does this server, which remembers them for that: the newest ones, in memory.
"""

from __future__ import annotations

from typing import Final

from kapy.kube import Document

_MOST: Final = 4096


class Unfilled:
    """Their revisions, by table, namespace and name."""

    __slots__ = ("_revisions",)

    def __init__(self) -> None:
        self._revisions: dict[tuple[str, str, str], str] = {}

    def add(self, table: str, document: Document) -> None:
        """Remember an object as it was just stored."""
        key = _key(table, document)
        self._revisions.pop(key, None)
        if len(self._revisions) >= _MOST:
            del self._revisions[next(iter(self._revisions))]
        self._revisions[key] = document["metadata"]["resourceVersion"]

    def holds(self, table: str, document: Document) -> bool:
        """Whether an object is one of them as it is stored now."""
        if not self._revisions:
            return False
        revision: str = document["metadata"]["resourceVersion"]
        return self._revisions.get(_key(table, document)) == revision


def _key(table: str, document: Document) -> tuple[str, str, str]:
    meta = document["metadata"]
    return table, meta.get("namespace", ""), meta["name"]
