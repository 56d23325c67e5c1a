"""Converts documents between the newest version and an older one, as the declarations say."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple, get_origin

from kapy.api.older.derivation import declarations, fields_of, older_type
from kapy.api.older.difference import Difference, Downgrade, Place, Upgrade
from kapy.api.older.fields import Fields, nested_types, plain, without_none
from kapy.kube import Document
from kapy.kube.model import Model


class Converter(NamedTuple):
    """Both ways of conversion of a Struct. remembers: the annotation is needed."""

    upgrade: Upgrade
    downgrade: Downgrade
    remembers: bool


UNCHANGED: Final = Converter(lambda *_: None, lambda *_: None, remembers=False)
"""The conversion of documents that are the same in both versions."""


@cache
def converter(newest: type[Model], version: str) -> Converter | None:
    """Return the conversion of a Struct; None if its documents are the same in both versions."""
    if older_type(newest, version) is newest:
        return None
    before = fields_of(newest)
    difference = declarations(version, newest.__module__).get(newest) or Difference(newest)
    upgrades, downgrades = _rows(difference, before)
    members = list(_members(newest, before, difference.apply(before), version))
    if not (upgrades or downgrades or members):
        return None
    restores = any(row.restores for row in difference.rows)
    remembers = restores or any(member.inner.remembers for member in members)
    return Converter(
        _upgrading(upgrades, members),
        _downgrading(downgrades, members),
        remembers and difference.remembers,
    )


class _Member(NamedTuple):
    """A field with Structs that are converted. many: list, dict, or None for a single one."""

    name: str
    many: Any
    inner: Converter

    def parts(self, value: Any) -> Any:
        return value if self.many is list else value.values() if self.many is dict else (value,)

    def memory_of_part(self, whole: Document | None) -> Document | None:
        """Return the remembered content of a part. Rows look up list and map items by key."""
        return None if whole is None or self.many else whole.get(self.name) or {}


def _rows(difference: Difference, before: Fields) -> tuple[list[Upgrade], list[Downgrade]]:
    both = [row.convert(before) for row in difference.rows if row.convert is not None]
    upgrades = [upgrade for upgrade, _ in both if upgrade is not None]
    return upgrades, [downgrade for _, downgrade in both if downgrade is not None]


def _members(newest: type[Any], before: Fields, after: Fields, version: str) -> Iterator[_Member]:
    for name, field in before.items():
        structs = nested_types(field.hint)
        if name not in after or not structs or structs[0] is newest:
            continue
        hint, many = after[name].hint, _many(field.hint)
        inner = converter(structs[0], version)
        if inner and structs == nested_types(hint) and many is _many(hint):
            yield _Member(field.encoded, many, inner)


def _many(hint: Any) -> Any:
    return get_origin(without_none(plain(hint)))


def _upgrading(rows: list[Upgrade], members: list[_Member]) -> Upgrade:
    """Return the conversion of a part. Members come first: rows move values that are already in the
    form of the newest version.
    """

    def upgrade(part: Document, memory: Document | None, place: Place) -> None:
        for member in members:
            if (result := part.get(member.name)) is not None:
                inner, known_inner = place.of(member.name), member.memory_of_part(memory)
                for item in member.parts(result):
                    member.inner.upgrade(item, known_inner, inner)
        for row in rows:
            row(part, memory, place)

    return upgrade


def _downgrading(rows: list[Downgrade], members: list[_Member]) -> Downgrade:
    def downgrade(part: Document, place: Place) -> None:
        for row in rows:
            row(part, place)
        for member in members:
            if (result := part.get(member.name)) is not None:
                for item in member.parts(result):
                    member.inner.downgrade(item, place.of(member.name))

    return downgrade
