"""Remembering what a function said about short texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, TypeVar

_Answer = TypeVar("_Answer")
LONGEST: Final = 512
"""Characters of a text that is remembered: texts of users can be as long as a body."""


def remembered(
    most: int,
) -> Callable[[Callable[[str], _Answer]], Callable[[str], _Answer]]:
    """Keep the last `most` answers of a pure function; those about long texts are not kept."""

    def decorate(function: Callable[[str], _Answer]) -> Callable[[str], _Answer]:
        cached = lru_cache(maxsize=most)(function)

        @wraps(function)
        def answer(text: str) -> _Answer:
            return cached(text) if len(text) <= LONGEST else function(text)

        return answer

    return decorate
