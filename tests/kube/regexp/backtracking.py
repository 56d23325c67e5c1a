"""Counts the steps that an engine that backtracks needs, as Python's `re` does, without running it.

Times say little on a busy machine; steps say whether a pattern is linear in its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Final, TypeAlias

op: Final[Any] = import_module("re._constants")
parser: Final[Any] = import_module("re._parser")

MOST: Final = 50_000

Rest: TypeAlias = Callable[[int], bool]


class Endless(Exception):
    """More steps than anybody wants to wait for."""


class Steps:
    """Matches a pattern and counts."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._tree = parser.parse(pattern, flags)
        self._text = ""
        self.count = 0

    def match(self, text: str, *, whole: bool, search: bool) -> int:
        """The steps for a text. whole: it must match to the end. search: from any place on."""
        self._text, self.count = text, 0
        for start in range(len(text) + 1 if search else 1):
            if self._items(list(self._tree), 0, start, self._end(whole=whole)):
                break
        return self.count

    def _end(self, *, whole: bool) -> Rest:
        return lambda at: at == len(self._text) or not whole

    def _step(self) -> None:
        self.count += 1
        if self.count > MOST:
            raise Endless

    def _items(self, items: list[Any], number: int, at: int, rest: Rest) -> bool:
        if number == len(items):
            return rest(at)
        self._step()
        kind, value = items[number]
        return self._one(kind, value, at, lambda end: self._items(items, number + 1, end, rest))

    def _one(self, kind: Any, value: Any, at: int, rest: Rest) -> bool:
        if kind in _SINGLE:
            return at < len(self._text) and _fits(kind, value, self._text[at]) and rest(at + 1)
        if kind is op.SUBPATTERN:
            return self._items(list(value[3]), 0, at, rest)
        if kind is op.BRANCH:
            return any(self._items(list(item), 0, at, rest) for item in value[1])
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            return self._repeat(kind, value, at, rest)
        if kind is op.AT:
            beginning = value in (op.AT_BEGINNING, op.AT_BEGINNING_STRING)
            return rest(at) if at == (0 if beginning else len(self._text)) else False
        if kind in (op.ASSERT, op.ASSERT_NOT):
            result = value[0] < 0 or self._items(list(value[1]), 0, at, lambda _: True)
            return rest(at) if result or kind is op.ASSERT_NOT else False
        return rest(at)

    def _repeat(self, kind: Any, value: Any, at: int, rest: Rest) -> bool:
        least, most, inner = value[0], value[1], list(value[2])
        if len(inner) == 1 and inner[0][0] in _SINGLE:
            return self._run(inner[0], least, most, at, rest)
        return self._again(inner, least, most, at, rest, 0)

    def _run(self, single: Any, least: int, most: int, at: int, rest: Rest) -> bool:
        end = at
        while (
            end < len(self._text)
            and end - at < most
            and _fits(single[0], single[1], self._text[end])
        ):
            self._step()
            end += 1
        while end - at >= least:
            self._step()
            if rest(end):
                return True
            end -= 1
        return False

    def _again(
        self, inner: list[Any], least: int, most: int, at: int, rest: Rest, count: int
    ) -> bool:
        if count < most:

            def more(end: int) -> bool:
                return end > at and self._again(inner, least, most, end, rest, count + 1)

            if self._items(inner, 0, at, more):
                return True
        return count >= least and rest(at)


_SINGLE: Final = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)


def _fits(kind: Any, value: Any, character: str) -> bool:
    code = ord(character)
    if kind is op.LITERAL:
        return bool(code == value)
    if kind is op.NOT_LITERAL:
        return bool(code != value)
    if kind is op.ANY:
        return character != "\n"
    negated = value[0][0] is op.NEGATE
    return (
        any(_member(item[0], item[1], code) for item in value if item[0] is not op.NEGATE)
        is not negated
    )


def _member(kind: Any, value: Any, code: int) -> bool:
    if kind is op.LITERAL:
        return bool(code == value)
    if kind is op.RANGE:
        return bool(value[0] <= code <= value[1])
    return re.match(_CATEGORIES[value], chr(code), re.ASCII) is not None


_CATEGORIES: Final = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}
_OF_CATEGORY: Final = {op.CATEGORY_DIGIT: "1", op.CATEGORY_SPACE: " ", op.CATEGORY_WORD: "a"}


def characters(pattern: str) -> list[str]:
    """Characters that a pattern looks at, a few."""
    results: dict[str, None] = {}
    for character in _characters(parser.parse(pattern)):
        results[character] = None
    return [*results][:7]


def _characters(tree: Any) -> Iterator[str]:
    for kind, value in tree:
        if kind in (op.LITERAL, op.NOT_LITERAL):
            yield chr(value)
        elif kind is op.IN:
            yield from _of_class(value)
        elif kind is op.SUBPATTERN:
            yield from _characters(value[3])
        elif kind is op.BRANCH:
            for item in value[1]:
                yield from _characters(item)
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            yield from _characters(value[2])
        elif kind is op.ANY:
            yield "a"


def _of_class(members: Any) -> Iterator[str]:
    for kind, value in members:
        if kind is op.LITERAL:
            yield chr(value)
        elif kind is op.RANGE:
            yield chr(value[0])
        elif kind is op.CATEGORY and value in _OF_CATEGORY:
            yield _OF_CATEGORY[value]
        elif kind is op.NEGATE:
            yield "~"
