"""The syntax tree of an expression. `at` is the position that cel-go shows in errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias


@dataclass(frozen=True, slots=True)
class Literal:
    """The syntax tree node of a constant."""

    at: int
    value: Any


@dataclass(frozen=True, slots=True)
class Name:
    """The syntax tree node of a variable, or of the first part of a qualified name."""

    at: int
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """The syntax tree node of `operand.field`, or of `operand.?field` when optional."""

    at: int
    operand: Tree
    field: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """The syntax tree node of `operand[key]`, or of `operand[?key]` when optional."""

    at: int
    operand: Tree
    key: Tree
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """The syntax tree node of `target.name(arguments)`, `name(arguments)`, and every operator
    (`_+_`, `!_` …).
    """

    at: int
    name: str
    target: Tree | None
    arguments: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """The syntax tree node of a list `[a, ?b]`: each item, and whether it is optional."""

    at: int
    items: tuple[tuple[Tree, bool], ...]


@dataclass(frozen=True, slots=True)
class MapOf:
    """The syntax tree node of a map `{a: b, ?c: d}`: key, value, and whether the value is
    optional.
    """

    at: int
    entries: tuple[tuple[Tree, Tree, bool], ...]


Tree: TypeAlias = Literal | Name | Select | Index | Call | ListOf | MapOf


def max_steps(tree: Tree) -> int:
    """Return the maximum cost of an evaluation in cel-go's unit, except for calls whose cost
    depends on the size of values, and for all rounds of a macro.
    """
    match tree:
        case Literal():
            return 0
        case Name():
            return 1
        case Select():
            return 1 + max_steps(tree.operand)
        case Index():
            return 1 + max_steps(tree.operand) + max_steps(tree.key)
        case ListOf():
            return 10 + sum(max_steps(item) for item, _ in tree.items)
        case MapOf():
            return 30 + sum(max_steps(key) + max_steps(value) for key, value, _ in tree.entries)
    parts = tree.arguments if tree.target is None else (tree.target, *tree.arguments)
    return (tree.name not in _FREE_CALLS) + sum(map(max_steps, parts))


_FREE_CALLS: Final = ("_&&_", "_||_", "_?_:_", "has")
