"""Limits of template functions: the cost of a call, and the size of its result.

A call is charged for its input and output. A call that would produce a huge result from small input
is refused beforehand, and texts to parse are limited in length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final

from kapy.kube.template_work import MAX_VALUE, TooLong, current, size

Function = Callable[..., Any]
Bound = Callable[..., int]
"""The most characters or items that a call may produce or compare."""

MAX_REPEAT: Final = 100_000
"""The largest number that may be a repeat count."""

_PARSED: Final = 1000
"""The most characters of a text that a function parses."""

_PARSING: Final = frozenset(
    (
        *("semver", "semverCompare", "toDate", "mustToDate", "duration", "durationRound", "ago"),
        *("dateModify", "date_modify", "mustDateModify", "must_date_modify", "unixEpoch"),
        *("int", "int64", "float64", "atoi", "toDecimal", "add", "add1", "sub", "div", "mod"),
        *("mul", "max", "min", "biggest", "addf", "add1f", "subf", "divf", "mulf", "maxf", "minf"),
        *("ceil", "floor", "round", "derivePassword", "urlParse", "until", "untilStep", "seq"),
    )
)
_COSTS: Final = {"derivePassword": 60_000, "buildCustomCert": 500}
_VERB: Final = re.compile(r"%[^A-Za-z%]*")
_DIGITS: Final = re.compile(r"[0-9]+")


def _whole(value: object) -> int:
    return abs(int(value)) if isinstance(value, (int, float)) and abs(value) < 1e18 else 0


def _text(value: object) -> int:
    return len(value) if isinstance(value, (str, bytes)) else 0


def _repeat(count: object = 0, text: object = "", *_: object) -> int:
    return _whole(count) * _text(text)


def _indent(count: object = 0, text: object = "", *_: object) -> int:
    lines = text.count("\n") + 1 if isinstance(text, str) else 1
    return _whole(count) * lines + _text(text)


def _replace(old: object = "", new: object = "", text: object = "", *_: object) -> int:
    if not (isinstance(old, str) and isinstance(text, str)):
        return 0
    return text.count(old) * _text(new) + len(text)


def _wrap(_width: object = 0, separator: object = "", text: object = None, *_: object) -> int:
    """Return a bound for `wrap`: at most one separator after each character.

    `wrap` itself has no separator argument, so that its second argument is the text.
    """
    if text is None:
        return 2 * _text(separator)
    return (_text(separator) + 1) * _text(text)


def _join(separator: object = "", items: object = (), *_: object) -> int:
    count = len(items) if isinstance(items, (list, tuple)) else 1
    return _text(separator) * count


def _pairs(items: object = (), *_: object) -> int:
    count = len(items) if isinstance(items, (list, tuple)) else 1
    return count * count // 16


def _each(items: object = (), *others: object) -> int:
    return (len(items) if isinstance(items, (list, tuple)) else 1) * max(1, len(others))


def _numbers(*counts: object) -> int:
    return max(map(_whole, counts), default=0)


def printf_size(form: object = "", *values: object) -> int:
    """Return a bound for the output of `printf`, with widths, precisions and repeated arguments."""
    if not isinstance(form, str):
        return 0
    verbs = _VERB.findall(form)
    widths = sum(_digits(digits) for verb in verbs for digits in _DIGITS.findall(verb))
    if any("*" in verb for verb in verbs):
        widths += len(verbs) * sum(map(_whole, values))
    if "[" in form:
        widths += len(verbs) * sum(map(size, values))
    return widths


def _digits(digits: str) -> int:
    return int(digits) if len(digits) < 9 else MAX_VALUE + 1


_MAKES: Final[Mapping[str, Bound]] = {
    "repeat": _repeat,
    "indent": _indent,
    "nindent": _indent,
    "replace": _replace,
    "wrap": _wrap,
    "wrapWith": _wrap,
    "join": _join,
    "printf": printf_size,
    "uniq": _pairs,
    "mustUniq": _pairs,
    "without": _each,
    "mustWithout": _each,
    **dict.fromkeys(("until", "untilStep", "seq"), _numbers),
}


def limit_work(name: str, function: Function) -> Function:
    """Wrap a function so that its work is charged. Raises TooLong beyond the limit."""
    makes, parses, extra = _MAKES.get(name), name in _PARSING, _COSTS.get(name, 2)

    @wraps(function)
    def call(*arguments: Any) -> Any:
        work = current()
        work.charge(extra)
        work.read(*arguments)
        if parses and any(_text(argument) > _PARSED for argument in arguments):
            raise ValueError(f"{name} of a text of more than {_PARSED} characters is too much")
        if makes is not None:
            value = makes(*arguments)
            if value > MAX_VALUE:
                raise TooLong(f"{name} would make more than {MAX_VALUE} characters or items")
            work.charge(value // 16)
        result = function(*arguments)
        work.read(getattr(result, "value", result))
        return result

    return call


def limit_counts(name: str, function: Function) -> Function:
    """Wrap a function so that repeat counts are limited."""

    @wraps(function)
    def call(*arguments: Any) -> Any:
        if any(
            isinstance(argument, (int, float)) and abs(argument) > MAX_REPEAT
            for argument in arguments
        ):
            raise ValueError(f"{name} of more than {MAX_REPEAT} is too much")
        return function(*arguments)

    return call
