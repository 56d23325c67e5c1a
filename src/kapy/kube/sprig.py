"""Sprig's deterministic functions for Go templates.

They are gotpl's with corrections: texts with a fraction count as numbers, times print as in Go and
are in UTC everywhere, `nil` can be an argument, patterns are RE2's, all calls are limited
(`sprig_limits`), and nothing is random (`sprig_volatile`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache, wraps
from re import compile as pattern
from typing import Any, Final

from kapy.kube import sprig_volatile
from kapy.kube.regexp import BadPattern, compile_pattern, quote
from kapy.kube.sprig_limits import limit_counts, limit_work

Function = Callable[..., Any]

_WHOLE: Final = (
    *("int", "int64", "add", "add1", "sub", "div", "mod", "mul"),
    *("max", "biggest", "min"),
)
_ANY: Final = frozenset(
    (
        *("append", "mustAppend", "mustPrepend", "mustPush", "prepend", "push"),
        *("deepCopy", "dict", "has", "list", "mustDeepCopy", "mustHas", "mustToJson"),
        *("mustToPrettyJson", "mustToRawJson", "set", "sortAlpha", "toJson", "toPrettyJson"),
        *("toRawJson", "toString", "toStrings", "tuple"),
    )
)
"""Functions with arguments of any type: a missing variable is nil for them."""
_MERGING: Final = ("merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite")
_MAPS: Final[Mapping[str, slice]] = {
    **dict.fromkeys(("get", "hasKey", "omit", "pick", "set", "unset", "urlJoin"), slice(1)),
    **dict.fromkeys(("keys", "values", *_MERGING), slice(None)),
    "pluck": slice(1, None),
}
"""The arguments of functions that must be maps: a missing variable is an empty one."""
_MUTATING: Final = pattern(r"\b(?:set|unset|merge|mergeOverwrite|mustMerge|mustMergeOverwrite)\b")
_NAME: Final = pattern(r"\w+")
_PLAIN_ACTION: Final = pattern(r"[\s\w.$,:=|()-]*")
_LANGUAGE: Final = "|".join(
    (
        *("range", "end", "if", "else", "with", "break", "continue", "nil", "true", "false"),
        *("and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "len", "index"),
    )
)
"""Keywords and functions of the language itself."""
_UNQUALIFIED: Final = pattern(rf"(?<![\w.$])(?!(?:{_LANGUAGE})\b)[^\W\d]")
_PRODUCING: Final = ("repeat", "until", "untilStep", "seq")
_DECIMAL: Final = pattern(r"([-+]?\d*)\.\d*")


def changes_data(template: str) -> bool:
    """Report whether a template may call a function that changes its arguments."""
    return _MUTATING.search(template) is not None


def volatile_functions(functions: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the functions that return a different value at each call."""
    return tuple(sorted(sprig_volatile.names().intersection(functions)))


def functions_in(template: str) -> dict[str, Function]:
    """Return the functions that a template may call; gotpl inspects each one at every render."""
    if not _may_call(template):
        return {}
    all_functions = functions()
    return {name: all_functions[name] for name in _NAME.findall(template) if name in all_functions}


def _may_call(template: str) -> bool:
    """Report whether a template may call a function of sprig.

    Without a call, gotpl's functions of sprig, which take as long as gotpl itself, are not
    imported. Actions with quotes are not looked into, because a text may have the end of an action.
    """
    for part in template.split("{{")[1:]:
        action, end, _ = part.partition("}}")
        if not end or not _PLAIN_ACTION.fullmatch(action) or _UNQUALIFIED.search(action):
            return True
    return False


@cache
def functions() -> Mapping[str, Function]:
    """Return all functions by name."""
    from gotpl.funcs.sprig import hermetic_text_func_map

    originals = hermetic_text_func_map()
    ours: dict[str, Function] = {
        **originals,
        **{name: limit_counts(name, originals[name]) for name in _PRODUCING},
        **{name: _of_whole_numbers(originals[name]) for name in _WHOLE},
        **sprig_volatile.functions(originals),
        **_REGEXPS,
        "toDate": _to_date,
        "mustToDate": _must_to_date,
        **{name: _without_negative_zero(originals[name]) for name in ("mulf", "divf")},
        **{name: _with_nothing_to_copy(originals[name]) for name in ("deepCopy", "mustDeepCopy")},
        **{name: _of_no_items(originals[name]) for name in ("slice", "mustSlice")},
        "mustDateModify": _moment_of(originals["mustDateModify"]),
        "must_date_modify": _moment_of(originals["must_date_modify"]),
    }
    return {name: limit_work(name, _with_nil(name, function)) for name, function in ours.items()}


def _of_whole_numbers(function: Function) -> Function:
    """Wrap a function so that it converts "3.7" to 3, like sprig."""

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return function(
            *(_whole(argument) if isinstance(argument, str) else argument for argument in arguments)
        )

    return call


def _whole(text: str) -> str:
    match = _DECIMAL.fullmatch(text)
    if match is None:
        return text
    return f"{match[1]}0" if match[1] in ("", "+", "-") else match[1]


def _with_nil(name: str, function: Function) -> Function:
    """Wrap a function so that it gets nil and missing variables as Go's templates pass them."""
    from gotpl.runtime.values import INVALID, UNTYPED_NIL

    absent = (UNTYPED_NIL, INVALID) if name in _ANY or name in _MAPS else (UNTYPED_NIL,)
    maps = _MAPS.get(name)

    @wraps(function)
    def call(*arguments: Any) -> Any:
        values = list(arguments)
        if maps is not None:
            values[maps] = [_map_of(item, absent, setting=name == "set") for item in values[maps]]
        return function(*(None if any(item is nil for nil in absent) else item for item in values))

    return call


def _map_of(value: Any, absent: tuple[Any, ...], *, setting: bool) -> Any:
    """Return a map; an empty one for an absent variable, but not for one whose value is null.

    setting: whether the function adds a member to the map.
    """
    if any(value is nil for nil in absent):
        if setting:
            raise TypeError("assignment to entry in nil map")
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"wrong type for value; expected a map; got {type(value).__name__}")
    return value


def _with_nothing_to_copy(function: Function) -> Function:
    @wraps(function)
    def call(value: Any) -> Any:
        if value is None:
            raise TypeError("nil cannot be copied")
        return function(value)

    return call


def _of_no_items(function: Function) -> Function:
    """Wrap a function so that it returns nil for an empty list, like sprig."""

    @wraps(function)
    def call(items: Any, *bounds: Any) -> Any:
        return None if isinstance(items, list) and not items else function(items, *bounds)

    return call


def _without_negative_zero(function: Function) -> Function:
    @wraps(function)
    def call(*arguments: Any) -> Any:
        return function(*arguments) + 0.0

    return call


class _Moment(datetime):
    """A time that prints like Go's `time.Time`."""

    def __str__(self) -> str:
        from gotime.go import Time

        plain = datetime.fromtimestamp(self.timestamp(), self.tzinfo)
        zone = "-0700" if self.utcoffset() else "MST"
        return Time.from_datetime(plain).format(f"2006-01-02 15:04:05.999999999 -0700 {zone}")


def _moment(when: datetime) -> _Moment:
    date = (when.year, when.month, when.day)
    time = (when.hour, when.minute, when.second, when.microsecond)
    return _Moment(*date, *time, tzinfo=when.tzinfo, fold=when.fold)


def _moment_of(function: Function) -> Function:
    @wraps(function)
    def call(*arguments: Any) -> Any:
        return _moment(function(*arguments))

    return call


def _must_to_date(layout: str, value: str) -> _Moment:
    from gotime.go import UTC as GO_UTC
    from gotime.go import Time

    return _moment(Time.parse_in_location(layout, value, GO_UTC).to_datetime())


def _to_date(layout: str, value: str) -> _Moment:
    try:
        return _must_to_date(layout, value)
    except ValueError:
        return _Moment(1, 1, 1, tzinfo=UTC)


def _match(pattern: str, text: str) -> bool:
    """Match a pattern; an invalid pattern matches nothing."""
    try:
        return compile_pattern(pattern).matches(text)
    except BadPattern:
        return False


def _must_match(pattern: str, text: str) -> bool:
    return compile_pattern(pattern).matches(text)


def _find(pattern: str, text: str) -> str:
    return compile_pattern(pattern).find(text) or ""


def _find_all(pattern: str, text: str, limit: int) -> list[str]:
    return compile_pattern(pattern).find_all(text, limit)


def _replace(pattern: str, text: str, template: str) -> str:
    return compile_pattern(pattern).replace(text, template)


def _replace_literal(pattern: str, text: str, replacement: str) -> str:
    return compile_pattern(pattern).replace_literal(text, replacement)


def _split(pattern: str, text: str, limit: int) -> list[str]:
    return compile_pattern(pattern).split(text, limit)


_REGEXPS: Final[dict[str, Callable[..., Any]]] = {
    "regexMatch": _match,
    "mustRegexMatch": _must_match,
    **dict.fromkeys(("regexFind", "mustRegexFind"), _find),
    **dict.fromkeys(("regexFindAll", "mustRegexFindAll"), _find_all),
    **dict.fromkeys(("regexReplaceAll", "mustRegexReplaceAll"), _replace),
    **dict.fromkeys(("regexReplaceAllLiteral", "mustRegexReplaceAllLiteral"), _replace_literal),
    **dict.fromkeys(("regexSplit", "mustRegexSplit"), _split),
    "regexQuoteMeta": quote,
}
