"""Choices of a generator: all of them follow from a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TypeVar

Value = TypeVar("Value")


class Draw:
    """A source of choices."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)

    def chance(self, share: float) -> bool:
        """Whether something happens that happens in this share of all cases."""
        return self.random.random() < share

    def number(self, least: int, most: int) -> int:
        """A whole number, both ends included."""
        return self.random.randint(least, most)

    def one(self, values: Sequence[Value]) -> Value:
        """One of the values."""
        return values[self.random.randrange(len(values))]

    def weighted(self, weights: Mapping[Value, float]) -> Value:
        """One of the keys, as often as its weight says."""
        return self.random.choices(list(weights), list(weights.values()))[0]

    def made(self, makers: Sequence[tuple[float, Callable[[], Value]]]) -> Value:
        """Return a value of a random maker, chosen by weight."""
        return self.random.choices([make for _, make in makers], [share for share, _ in makers])[
            0
        ]()

    def some(self, values: Sequence[Value], most: int | None = None) -> list[Value]:
        """Some of the values, in any order."""
        count = self.number(0, min(len(values), len(values) if most is None else most))
        return self.random.sample(list(values), count)
