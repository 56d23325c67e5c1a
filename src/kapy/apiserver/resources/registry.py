"""The registry of the Kinds that a server serves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from kapy.apiserver.resources.kind import Kind


class KindIndex:
    """An immutable set of Kinds, indexed by plural and by kind."""

    __slots__ = ("by_kind", "by_plural", "versions")

    def __init__(self, kinds: Iterable[Kind] = ()) -> None:
        self.by_plural = {
            (kind.resource.group, kind.resource.version, kind.resource.plural): kind
            for kind in kinds
        }
        self.versions = {(group, version) for group, version, _ in self.by_plural}
        self.by_kind: dict[tuple[str, str, str], Kind] = {}
        for kind in self.by_plural.values():
            resource = kind.resource
            self.by_kind.setdefault((resource.group, resource.version, resource.kind), kind)


class Registry:
    """The Kinds of one server: Kubernetes' own, and the current custom ones.

    All servers of a process share the built-in part. `custom` is replaced as a whole, so a thread
    that reads it sees one state.
    """

    __slots__ = ("_builtin", "custom")

    def __init__(self) -> None:
        self._builtin = builtin_kinds()
        self.custom = _NO_KINDS

    def set_custom(self, kinds: Iterable[Kind]) -> None:
        """Replace the custom Kinds."""
        self.custom = KindIndex(kinds)

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """Return the Kind at this group, version and plural, or None."""
        key = (group, version, plural)
        return self.custom.by_plural.get(key) or self._builtin.by_plural.get(key)

    def serves(self, group: str, version: str) -> bool:
        """Report whether a version of a group is served."""
        key = (group, version)
        return key in self.custom.versions or key in self._builtin.versions

    def has_group(self, group: str) -> bool:
        """Report whether a group is served."""
        parts = self.custom, self._builtin
        return any(item == group for part in parts for item, _ in part.versions)

    def __iter__(self) -> Iterator[Kind]:
        custom = self.custom
        yield from self._builtin.by_plural.values()
        yield from custom.by_plural.values()

    def find_kind(self, group: str, version: str, kind: str) -> Kind | None:
        """Return the Kind of objects with this apiVersion and kind."""
        key = (group, version, kind)
        return self._builtin.by_kind.get(key) or self.custom.by_kind.get(key)

    def in_table(self, table: str) -> Kind | None:
        """Return the Kind of a table's storage version."""
        for kind in self:
            if kind.table == table and kind.storage == kind.resource:
                return kind
        return None


_NO_KINDS = KindIndex()


@cache
def builtin_kinds() -> KindIndex:
    """Return Kubernetes' own resources."""
    from kapy.apiserver.resources.builtin import KINDS

    return KindIndex(KINDS)
