"""The syntax tree of an expression. `at` is where cel-go points when it complains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias


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


def steps(tree: Tree) -> int:
    """What evaluating an expression costs at most, in cel-go's unit, but for calls whose cost
    depends on the size of values, and for all rounds of a macro."""
    match tree:
        case Literal():
            return 0
        case Name():
            return 1
        case Select():
            return 1 + steps(tree.operand)
        case Index():
            return 1 + steps(tree.operand) + steps(tree.key)
        case ListOf():
            return 10 + sum(steps(item) for item, _ in tree.items)
        case MapOf():
            return 30 + sum(steps(key) + steps(value) for key, value, _ in tree.entries)
    parts = tree.arguments if tree.target is None else (tree.target, *tree.arguments)
    return (tree.name not in _FREE) + sum(map(steps, parts))


_FREE: Final = ("_&&_", "_||_", "_?_:_", "has")
