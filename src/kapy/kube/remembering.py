"""Caches for functions of texts, with bounded memory for texts of any size."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Final, ParamSpec, TypeVar, cast

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

LONGEST: Final = 512
"""The most characters of a cached text. `lru_cache` counts results, not bytes: a thousand texts of
a megabyte would stay in memory.
"""


def remembered(
    most: int, longest: int = LONGEST
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Like `lru_cache` for functions of texts, but texts longer than `longest` are not cached."""

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        known = lru_cache(maxsize=most)(function)

        def call_of_one(text: Any) -> Result:
            return known(text) if len(text) <= longest else function(text)  # type: ignore[call-arg]

        @wraps(function)
        def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            for one in args:
                if len(one) > longest:  # type: ignore[arg-type]
                    return function(*args, **kwargs)
            return known(*args, **kwargs)  # type: ignore[arg-type]

        # Nearly all functions take one text and are called many times per write.
        alone = function.__code__.co_argcount == 1 and not function.__code__.co_kwonlyargcount
        return wraps(function)(cast("Callable[Arguments, Result]", call_of_one)) if alone else call

    return decorate
