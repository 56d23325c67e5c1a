"""Pruning of fields that a schema does not specify."""

from __future__ import annotations

from typing import Any, Final

from kapy.kube import Document
from kapy.kube.field_errors import Path, member, path_text
from kapy.kube.schema.node import Node
from kapy.kube.schema.rules import ABSENT

_META: Final = frozenset(("apiVersion", "kind", "metadata"))
_OBJECT_META: Final = frozenset(
    (
        "name",
        "generateName",
        "namespace",
        "selfLink",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
        "managedFields",
    )
)

MAX_PATHS: Final = 1000
MAX_PATH_TEXT: Final = 256 * 1024
"""The most paths of pruned fields to report, and their total characters."""


class Pruning:
    """One pass over one document.

    unknown: paths of pruned fields. metadata: those in the metadata of embedded objects. At most
    the first MOST of each are recorded.
    """

    __slots__ = ("_room", "metadata", "unknown")

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self.metadata: list[str] = []
        self._room = MAX_PATH_TEXT

    def _note(self, paths: list[str], path: Path) -> None:
        if len(paths) < MAX_PATHS and self._room > 0:
            paths.append(path_text(path))
            self._room -= len(paths[-1])

    def prune(self, node: Node | None, value: Any, path: Path, settled: Any = ABSENT) -> Any:
        """Return the value without unknown fields; itself if there are none."""
        if value is settled:
            return value
        if isinstance(value, dict):
            return self._object(node, value, path, settled)
        if isinstance(value, list):
            return self._list(node, value, path, settled)
        return value

    def _object(self, node: Node | None, value: Document, path: Path, settled: Any) -> Document:
        old_values = settled if isinstance(settled, dict) else {}
        properties = node.properties if node is not None else {}
        result: Document | None = None
        for name, inner in value.items():
            if inner.__class__ is str and name in properties:
                continue  # most members are scalars
            if old_values.get(name, ABSENT) is inner:
                continue
            child = node.child(name) if node is not None else None
            if node is not None and node.embedded and name in _META:
                new = self._meta(inner, member(path, name)) if name == "metadata" else inner
            elif child is None:
                if node is not None and (node.preserve or node.open):
                    continue
                self._note(self.unknown, member(path, name))
                new = ABSENT
            elif isinstance(inner, (dict, list)):
                new = self.prune(child, inner, member(path, name), old_values.get(name, ABSENT))
            else:
                continue
            if new is not inner:
                result = dict(value) if result is None else result
                if new is ABSENT:
                    del result[name]
                else:
                    result[name] = new
        return value if result is None else result

    def _list(self, node: Node | None, value: list[Any], path: Path, settled: Any) -> list[Any]:
        old_values = settled if isinstance(settled, list) else []
        items = node.items if node is not None else None
        if items is None and node is not None and node.preserve:
            return value
        result: list[Any] | None = None
        for index, inner in enumerate(value):
            if not isinstance(inner, (dict, list)):
                continue
            before = old_values[index] if index < len(old_values) else ABSENT
            if inner is before:
                continue
            new = self.prune(items, inner, (path, index), before)
            if new is not inner:
                result = value.copy() if result is None else result
                result[index] = new
        return value if result is None else result

    def _meta(self, value: Any, path: Path) -> Any:
        if not isinstance(value, dict):
            return value
        for name in value:
            if name not in _OBJECT_META:
                self._note(self.metadata, member(path, name))
        result = {name: inner for name, inner in value.items() if name in _OBJECT_META}
        return value if len(result) == len(value) else result
