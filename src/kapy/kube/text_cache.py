"""Caches for functions of texts, with bounded memory for texts of any size."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Final, ParamSpec, TypeVar, cast

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

MAX_TEXT: Final = 512
"""The most characters of a cached text. `lru_cache` counts results, not bytes: a thousand texts of
a megabyte would stay in memory.
"""


def text_cache(
    size: int, max_length: int = MAX_TEXT
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Like `lru_cache` for functions of texts, but texts longer than `max_length` are not
    cached."""

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        cached = lru_cache(maxsize=size)(function)

        def call_of_one(text: Any) -> Result:
            return cached(text) if len(text) <= max_length else function(text)  # type: ignore[call-arg]

        @wraps(function)
        def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            for arg in args:
                if len(arg) > max_length:  # type: ignore[arg-type]
                    return function(*args, **kwargs)
            return cached(*args, **kwargs)  # type: ignore[arg-type]

        # Nearly all functions take one text and are called many times per write.
        alone = function.__code__.co_argcount == 1 and not function.__code__.co_kwonlyargcount
        return wraps(function)(cast("Callable[Arguments, Result]", call_of_one)) if alone else call

    return decorate
