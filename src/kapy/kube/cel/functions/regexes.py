"""Regular expressions: `matches`, and Kubernetes' `find` and `findAll`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from kapy.kube.cel.errors import CostExceeded, EvaluationError
from kapy.kube.cel.overloads import Function
from kapy.kube.regexp import BadPattern, Regexp, TooCostly, check, compile_pattern


def check_pattern(pattern: str) -> None:
    """Check that a text is a valid pattern. Raises EvaluationError."""
    try:
        check(pattern)
    except BadPattern as error:
        raise EvaluationError(str(error)) from None
    except TooCostly:
        raise CostExceeded from None


def _with_pattern(function: Callable[..., Any]) -> Function:
    """Wrap a function of a text and a pattern so that it raises CEL evaluation errors."""

    @wraps(function)
    def call(text: str, pattern: str, *arguments: Any) -> Any:
        try:
            return function(compile_pattern(pattern), text, *arguments)
        except BadPattern as error:
            raise EvaluationError(str(error)) from None
        except TooCostly:
            raise CostExceeded from None

    return call


def _matches(text: str, pattern: str) -> bool:
    """Implement `matches` without the wrapper, because most rules with patterns use it."""
    try:
        return compile_pattern(pattern).matches(text)
    except BadPattern as error:
        raise EvaluationError(str(error)) from None
    except TooCostly:
        raise CostExceeded from None


def _find(regexp: Regexp, text: str) -> str:
    return regexp.find(text) or ""


FUNCTIONS: Final[dict[str, Function]] = {
    "string :: matches(string) -> bool": _matches,
    "matches(string, string) -> bool": _matches,
    "string :: find(string) -> string": _with_pattern(_find),
    "string :: findAll(string) -> list<string>": _with_pattern(Regexp.find_all),
    "string :: findAll(string, int) -> list<string>": _with_pattern(Regexp.find_all),
}
