"""Remembering what functions of texts gave, in bounded memory whatever the texts are."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Final, ParamSpec, TypeVar, cast

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

LONGEST: Final = 512
"""Characters of a text that is remembered. `lru_cache` counts results, not bytes: a thousand texts
of a megabyte would stay."""


def remembered(
    most: int, longest: int = LONGEST
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """As `lru_cache` for functions of texts, those of more than `longest` characters aside."""

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

        # Nearly all take one text, many times in each write.
        alone = function.__code__.co_argcount == 1 and not function.__code__.co_kwonlyargcount
        return wraps(function)(cast("Callable[Arguments, Result]", call_of_one)) if alone else call

    return decorate
