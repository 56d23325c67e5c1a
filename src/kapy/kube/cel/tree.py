"""The syntax tree of an expression. `at` is where cel-go points when it complains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    at: int
    value: Any


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, or the first part of a qualified name."""

    at: int
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`, or `operand.?field` when optional."""

    at: int
    operand: Tree
    field: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """`operand[key]`, or `operand[?key]` when optional."""

    at: int
    operand: Tree
    key: Tree
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """`target.name(arguments)`, `name(arguments)`, and every operator (`_+_`, `!_` …)."""

    at: int
    name: str
    target: Tree | None
    arguments: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """`[a, ?b]`: each item, and whether it is optional."""

    at: int
    items: tuple[tuple[Tree, bool], ...]


@dataclass(frozen=True, slots=True)
class MapOf:
    """`{a: b, ?c: d}`: key, value, and whether the value is optional."""

    at: int
    entries: tuple[tuple[Tree, Tree, bool], ...]


Tree: TypeAlias = Literal | Name | Select | Index | Call | ListOf | MapOf
