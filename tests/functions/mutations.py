"""Random changes of recorded arguments: each case is a recorded one with one to three changes.

A change takes parts of other cases at the same field, repeats, removes or swaps words of a text, or
puts an extreme value somewhere.
"""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Any, Final

from kapy.kube import Document

Place = tuple[str | int, ...]

EXTREME: Final[tuple[Any, ...]] = (
    *(True, False, 0, 1, -1, 1.5, 1e21, 123456789012345678, "", "a", "A", "0", "true", "null"),
    *(" ", "\n", "é", "a.b", "~1", "-", "*", "x" * 64, '"', "\\", "01", "+1", [], {}, [1]),
)
WORDS: Final = (
    *("", "0", "1", "-1", '"', "\\", ".", "{", "}", "$", "|", " ", "\n", "é", "%", "(", ")"),
    *("_", "A", "true", "nil", "3.0", "1e3", "/", "^", "#", ",", ":", "=", "+", "?", "[", "]"),
)
FIXED: Final = frozenset(
    (
        *("kind", "op", "request", "version", "patchType", "validateRequired", "createVariables"),
        *("case", "from", "to", "strategy", "order", "generator", "hook", "fn"),
    )
)
"""Fields of a case that select what is compared."""
REQUIRED: Final = frozenset(
    ("name", "schema", "openAPIV3Schema", "rule", "definitions", "infrastructureRef", "bootstrap")
)
"""Members that Go fills with zeros if they are absent, which no server lets through."""
_WORD: Final = re.compile(r"\w+|\s+|[^\w\s]")


class Mutations:
    """Makes cases from recorded arguments. The same seed makes the same cases."""

    def __init__(self, cases: list[Document], seed: int, *, fixed: frozenset[str] = FIXED) -> None:
        """fixed: fields of a case that are never changed."""
        self._given = cases
        self._fixed = fixed
        self._random = Random(seed)
        self._known: Mapping[str, list[Any]] = _by_field(cases)

    def cases(self, count: int) -> Iterator[Document]:
        """Yield that many cases."""
        for _ in range(count):
            case = copy.deepcopy(self._random.choice(self._given))
            for _ in range(self._random.choice((1, 1, 2, 3))):
                self._change(case)
            yield case

    def _change(self, case: Document) -> None:
        places = [place for place in _places(case) if place and place[0] not in self._fixed]
        if not places:
            return
        place = self._random.choice(places)
        parent, last = _at(case, place[:-1]), place[-1]
        field = next(str(part) for part in reversed(place) if isinstance(part, str))
        value = parent[last]
        match self._random.randrange(6):
            case 0 | 1 | 2 if isinstance(value, str):
                parent[last] = self._text(value, field)
            case 3 if len(place) > 1 and last not in REQUIRED:
                del parent[last]
            case 4 if isinstance(value, list) and value:
                repeated = copy.deepcopy(self._random.choice(value))
                value.insert(self._random.randrange(len(value) + 1), repeated)
            case 4 if isinstance(value, dict):
                name = self._random.choice(list(self._known))
                value[name] = copy.deepcopy(self._random.choice(self._known[name]))
            case 5 if len(place) > 1:
                parent[last] = copy.deepcopy(self._random.choice(EXTREME))
            case _ if field in self._known:
                parent[last] = copy.deepcopy(self._random.choice(self._known[field]))

    def _text(self, text: str, field: str) -> str:
        others = [item for item in self._known.get(field, ()) if isinstance(item, str)]
        if others and self._random.random() < 0.3:
            return self._random.choice(others)
        words = _WORD.findall(text) or [""]
        for _ in range(self._random.choice((1, 1, 2, 3))):
            at = self._random.randrange(len(words))
            other = _WORD.findall(self._random.choice(others or [""])) or [""]
            match self._random.randrange(6):
                case 0:
                    words[at] = ""
                case 1:
                    words.insert(at, words[at])
                case 2:
                    start = self._random.randrange(len(other))
                    words[at:at] = other[start : start + self._random.randrange(1, 8)]
                case 3:
                    words[at:] = other[self._random.randrange(len(other)) :]
                case 4:
                    words[at] = self._random.choice(WORDS)
                case _:
                    swapped = self._random.randrange(len(words))
                    words[at], words[swapped] = words[swapped], words[at]
        return "".join(words)


def _by_field(cases: Iterable[Document]) -> Mapping[str, list[Any]]:
    values: defaultdict[str, list[Any]] = defaultdict(list)

    def walk(value: Any, field: str) -> None:
        if value is not None:
            values[field].append(value)
        members = value.items() if isinstance(value, dict) else ()
        for name, member in members:
            walk(member, name)
        for item in value if isinstance(value, list) else ():
            walk(item, field)

    for case in cases:
        for name, value in case.items():
            walk(value, name)
    return dict(values)


def _places(value: Any, place: Place = ()) -> Iterator[Place]:
    yield place
    if isinstance(value, dict):
        for name in value:
            yield from _places(value[name], (*place, name))
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from _places(value[index], (*place, index))


def _at(value: Any, place: Place) -> Any:
    for part in place:
        value = value[part]
    return value
