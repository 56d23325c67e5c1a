"""Mutations of JSON trees: a random byte rarely leaves JSON what it is, a random node does."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

STRANGE: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**30, -(2**63) - 1, 1.5, 1e308, -0.0),
    *("", "x", "-1", "a/b", "A_b", "é", "\0", "x" * 300, "10Mi", "1e400", "^(", "%s", "*", "."),
    *(
        "a\nb",
        "2026-01-01T00:00:00Z",
        "1h",
        "10.0.0.0/8",
        "v1",
        "YQ==",
        "{{ . }}",
        "${A}",
        "$patch",
    ),
    *([], {}, [None], [[]], {"": ""}, {"x": None}, [{}], [1, "a"], {"a": {"b": {"c": 1}}}),
    "9" * 5000,
    "0.0.0.0:99999999",
    "https://[::1",
    "\ud83d",
)


class Mutator:
    """Makes other inputs of inputs. words: texts that mean something to the parser."""

    def __init__(self, seed: int, words: Sequence[bytes] = ()) -> None:
        self._random = random.Random(seed)
        self._words = [word.decode("utf-8", "replace") for word in words]

    def mutated(self, data: bytes) -> bytes | None:
        """A mutation of JSON; None when the input is none."""
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return None
        for _ in range(self._random.choice((1, 1, 1, 2, 3, 6))):
            value = self._changed(value)
        try:
            return json.dumps(value).encode()
        except (ValueError, RecursionError):
            return None

    def _changed(self, root: Any) -> Any:
        holder = [root]
        places = list(_places(holder))[:5000]
        container, key = self._random.choice(places)
        self._random.choice(
            (self._replace, self._replace, self._remove, self._copy, self._add, self._deepen)
        )(container, key, places)
        return holder[0] if holder else None

    def _strange(self) -> Any:
        if self._words and self._random.random() < 0.5:
            return self._random.choice(self._words)
        return copy.deepcopy(self._random.choice(STRANGE))

    def _replace(self, container: Any, key: Any, _: Any) -> None:
        value = container[key]
        if isinstance(value, str) and value and self._random.random() < 0.4:
            at = self._random.randrange(len(value) + 1)
            more = self._strange()
            container[key] = f"{value[:at]}{more if isinstance(more, str) else ''}{value[at + 1 :]}"
        else:
            container[key] = self._strange()

    def _remove(self, container: Any, key: Any, _: Any) -> None:
        del container[key]

    def _copy(self, container: Any, key: Any, places: Any) -> None:
        other, index = self._random.choice(places)
        try:
            container[key] = copy.deepcopy(other[index])
        except (KeyError, IndexError, RecursionError):
            container[key] = None

    def _add(self, container: Any, key: Any, _: Any) -> None:
        value = container[key]
        if isinstance(value, dict):
            name = self._strange()
            value[name if isinstance(name, str) else "x"] = self._strange()
        elif isinstance(value, list):
            value.insert(self._random.randrange(len(value) + 1), self._strange())
        else:
            container[key] = [value]

    def _deepen(self, container: Any, key: Any, _: Any) -> None:
        value = container[key]
        for _ in range(self._random.choice((1, 2, 40, 290))):
            value = [value] if self._random.random() < 0.5 else {"a": value}
        container[key] = value


def _places(root: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Every container and key, from the root on."""
    waiting: list[Any] = [root]
    while waiting:
        node = waiting.pop()
        for key, value in list(node.items() if isinstance(node, dict) else enumerate(node)):
            yield node, key
            if isinstance(value, (dict, list)):
                waiting.append(value)


class Splicer:
    """Makes other inputs of bytes: parts of them doubled, removed, mixed, with words between."""

    def __init__(self, seed: int, inputs: Sequence[bytes], words: Sequence[bytes] = ()) -> None:
        self._random = random.Random(seed)
        self._inputs = list(inputs) or [b""]
        self._words = [*words, *_WORDS]

    def made(self) -> bytes:
        """One input."""
        data = self._random.choice(self._inputs)
        for _ in range(self._random.choice((1, 1, 2, 3, 8))):
            data = self._changed(data)
        return data[:8192]

    def _changed(self, data: bytes) -> bytes:
        at, end = sorted(self._random.randrange(len(data) + 1) for _ in range(2))
        before, part, after = data[:at], data[at:end], data[end:]
        match self._random.randrange(6):
            case 0:
                return before + after
            case 1:
                return before + part * self._random.choice((2, 3, 40)) + after
            case 2:
                return before + self._random.choice(self._words) + part + after
            case 3:
                return before + self._random.choice(self._words) + after
            case 4:
                other = self._random.choice(self._inputs)
                return before + other[self._random.randrange(len(other) + 1) :]
            case _:
                return (
                    before
                    + self._random.randbytes(self._random.choice((1, 1, 2, 8)))
                    + part
                    + after
                )


_WORDS: Final = (
    *(
        b"",
        b"\0",
        b"\xff",
        b"\n",
        b'"',
        b"'",
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b"(",
        b")",
        b":",
        b",",
    ),
    *(
        b"-",
        b"+",
        b"0",
        b"9" * 30,
        b"9" * 5000,
        b"1e400",
        b".5",
        b" ",
        b"%",
        b"$",
        b"*",
        b"/",
        b"~",
        b"<",
        b"=",
    ),
    *("é".encode(), "٣".encode(), "\u2028".encode(), b"\xed\xa0\x80", b"\xf4\x90\x80\x80"),
)
