"""The registry of Kinds. All servers of a process share its built-in part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from kapy.apiserver.resources.kind import Kind


class Registry:
    """Kinds by group, version and plural."""

    __slots__ = ("_base", "_groups", "_kinds", "_of_kind")

    def __init__(self, kinds: Iterable[Kind] = (), base: Registry | None = None) -> None:
        self._base = base
        self._kinds = {
            (kind.resource.group, kind.resource.version, kind.resource.plural): kind
            for kind in kinds
        }
        self._groups = {(group, version) for group, version, _ in self._kinds}
        self._of_kind: dict[tuple[str, str, str], Kind] = {}
        for kind in self._kinds.values():
            resource = kind.resource
            self._of_kind.setdefault((resource.group, resource.version, resource.kind), kind)

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """Return the Kind at this group, version and plural, or None."""
        kind = self._kinds.get((group, version, plural))
        if kind is None and self._base is not None:
            return self._base.find(group, version, plural)
        return kind

    def serves(self, group: str, version: str) -> bool:
        """Report whether a version of a group is served."""
        return (group, version) in self._groups or (
            self._base is not None and self._base.serves(group, version)
        )

    def has_group(self, group: str) -> bool:
        """Report whether a group is served."""
        return any(one == group for one, _ in self._groups) or (
            self._base is not None and self._base.has_group(group)
        )

    def __iter__(self) -> Iterator[Kind]:
        if self._base is not None:
            yield from self._base
        yield from self._kinds.values()

    def find_kind(self, group: str, version: str, kind: str) -> Kind | None:
        """Return the Kind of objects with this apiVersion and kind."""
        found = self._base.find_kind(group, version, kind) if self._base is not None else None
        return found or self._of_kind.get((group, version, kind))

    def in_table(self, table: str) -> Kind | None:
        """Return the Kind of a table's storage version."""
        for one in self:
            if one.table == table and one.storage == one.resource:
                return one
        return None

    def with_custom(self, kinds: Iterable[Kind]) -> Registry:
        """Return a registry with the built-in kinds and these custom ones."""
        return Registry(kinds, self._base if self._base is not None else self)


@cache
def builtin_registry() -> Registry:
    """Return the registry of Kubernetes' own resources."""
    from kapy.apiserver.resources.builtin import KINDS

    return Registry(KINDS)
