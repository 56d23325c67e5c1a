"""The objects of a store whose JSON is not packed yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from kapy.apiserver.store.stored_object import StoredObject
from kapy.kube.packed_json import Packer

_NEVER: Final = -1


class Place(NamedTuple):
    """An object in a store."""

    table: str
    namespace: str
    name: str


class WarmObjects:
    """Remembers which objects were written or decoded in which pass, until they are packed.

    It remembers nothing before the first pass: in a program that never packs objects, they cost
    nothing here.
    """

    __slots__ = ("_pass", "_since")

    def __init__(self) -> None:
        self._since: dict[Place, int] = {}
        self._pass = _NEVER

    def __len__(self) -> int:
        return len(self._since)

    def add(self, table: str, namespace: str, name: str) -> None:
        """Remember an object that has just been written or decoded."""
        if self._pass != _NEVER:
            place = Place(table, namespace, name)
            self._since.pop(place, None)
            self._since[place] = self._pass

    def cool(
        self,
        packer: Packer,
        everything: Callable[[], Iterable[Place]],
        find: Callable[[Place], StoredObject | None],
    ) -> Iterator[None]:
        """Pack the objects that came before the last call, one at each step.

        everything: the objects that came before the first call. find: the current object.
        """
        if self._pass == _NEVER:
            self._since = dict.fromkeys(everything(), 0)
            self._pass = 0
        self._pass += 1
        while self._since:
            place = next(iter(self._since))
            if self._since[place] >= self._pass - 1:
                return
            del self._since[place]
            stored = find(place)
            if stored is not None:
                stored.pack(packer)
            yield
