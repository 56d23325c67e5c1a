"""Paths into variables (`builtin.cluster.network.pods[0]`): `valueFrom.variable` of patches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kapy.kube.digits import parse_digits, parse_integer
from kapy.kube.text_cache import text_cache
from kapy.topology.patches.errors import MissingValue, NoValue

_INDEX: Final = re.compile(r"[+-]?[0-9]+")


class _Segment(NamedTuple):
    name: str
    item: int | None = None


def value_of(variables: Mapping[str, Any], path: str) -> Any:
    """The value at a path. Raises MissingValue if nothing is there, NoValue if the path is invalid:
    its syntax is wrong, or it treats a scalar as a list or map.
    """
    segments = _segments(path)
    first = _valid(segments[0])
    if first.name not in variables:
        raise MissingValue(f'variable "{first.name}" does not exist')
    result = _item(variables[first.name], first, path)
    for item in segments[1:]:
        segment = _valid(item)
        result = _item(_part(result, segment.name, path), segment, path)
    return result


def _part(value: Any, name: str, path: str) -> Any:
    if isinstance(value, dict) and name in value:
        return value[name]
    number = parse_digits(name) if isinstance(value, list) else None
    if number is not None and number < len(value):
        return value[number]
    raise MissingValue(f'variable "{path}" does not exist: failed to lookup segment "{name}"')


def _item(value: Any, segment: _Segment, path: str) -> Any:
    if segment.item is None:
        return value
    if not isinstance(value, list):
        raise NoValue(f'variable "{path}" is invalid: "{segment.name}" is no array')
    if segment.item >= len(value):
        raise NoValue(f'variable "{path}" is invalid: array does not have index {segment.item}')
    return value[segment.item]


def _valid(segment: _Segment | NoValue) -> _Segment:
    if isinstance(segment, NoValue):
        raise NoValue(str(segment))
    return segment


@text_cache(1024)
def _segments(path: str) -> tuple[_Segment | NoValue, ...]:
    """Return the segments of a path. The error of an invalid one stands in its place: whatever is
    missing before it is reported first.
    """
    result: list[_Segment | NoValue] = []
    for part in path.split("."):
        try:
            result.append(_segment(part, path))
        except NoValue as error:
            result.append(error)
    return tuple(result)


def _segment(text: str, path: str) -> _Segment:
    opened, closed = text.find("["), text.find("]")
    if opened < 0 and closed < 0:
        return _Segment(text)
    problem = f'variable "{path}" has invalid syntax: path segment "{text}"'
    if opened < 0 or closed < opened:
        raise NoValue(f"{problem} does not close what it opens")
    index = text[opened + 1 : closed]
    if not _INDEX.fullmatch(index):
        raise NoValue(f'{problem} has "{index}" where the index of an array belongs')
    if parse_integer(index) < 0:
        raise NoValue(f"{problem} has an array index below zero: {index}")
    return _Segment(text[:opened], parse_integer(index))
