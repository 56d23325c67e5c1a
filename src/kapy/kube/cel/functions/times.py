"""Timestamps and durations: parsing, formatting, and their parts."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from typing import Final

from kapy.kube.cel.errors import EvaluationError
from kapy.kube.cel.overloads import Function
from kapy.kube.cel.values import Duration, Timestamp

_NO_CONVERSION: Final = "type conversion error from 'string' to"
SECOND: Final = 10**9
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STAMP: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:?\d\d))?", re.ASCII
)
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_PART: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_WHOLE: Final = re.compile(rf"[+-]?(?:{_PART.pattern})+", re.ASCII)


def timestamp(text: str) -> Timestamp:
    """Parse a timestamp in the format of RFC 3339; a date without a time is its first moment."""
    match = _STAMP.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        zone = (match[4] or "Z").upper().replace("Z", "+00:00")
        moment = datetime.fromisoformat(f"{match[1]}T{match[2] or '00:00:00'}{zone}")
    except ValueError:
        raise EvaluationError(f"{_NO_CONVERSION} 'google.protobuf.Timestamp'") from None
    nanos = int(f"{match[3] or '0':0<9.9}")
    return Timestamp((moment - _EPOCH) // timedelta(seconds=1) * SECOND + nanos)


_WORD_PART: Final = re.compile(r"(\d+)\s*([a-z]+)")
_WORDS: Final = {
    "ns": 1,
    "nano": 1,
    "us": 1000,
    "micro": 1000,
    "ms": 10**6,
    "milli": 10**6,
    "s": SECOND,
    "sec": SECOND,
    "m": 60 * SECOND,
    "min": 60 * SECOND,
    "h": 3600 * SECOND,
    "hr": 3600 * SECOND,
    "hour": 3600 * SECOND,
    "d": 86400 * SECOND,
    "day": 86400 * SECOND,
    "w": 7 * 86400 * SECOND,
    "week": 7 * 86400 * SECOND,
}
"""Nanoseconds, by how a unit's name begins."""


def worded_duration(text: str) -> Duration:
    """Parse a schema's duration format: Go's format, or days, weeks and words (`2 days`)."""
    if _WHOLE.fullmatch(text):
        return duration(text)
    total = 0
    for number, unit in _WORD_PART.findall(text):
        unit_name = (
            unit
            if unit in _WORDS
            else next(
                (word for word in sorted(_WORDS, key=len, reverse=True) if unit.startswith(word)),
                "",
            )
        )
        if not unit_name:
            raise EvaluationError(f"{_NO_CONVERSION} 'google.protobuf.Duration'")
        total += int(number) * _WORDS[unit_name]
    return Duration(total)


def duration(text: str) -> Duration:
    """Parse a duration in Go's format: `1h30m`, `1.5s`."""
    if text in ("0", "+0", "-0"):
        return Duration(0)
    if not _WHOLE.fullmatch(text):
        raise EvaluationError(f"{_NO_CONVERSION} 'google.protobuf.Duration'")
    total = sum(
        (_amount(number) * _UNITS[unit] for number, unit in _PART.findall(text)), Fraction(0)
    )
    return Duration(int(-total if text[0] == "-" else total))


def _amount(number: str) -> Fraction:
    """Parse the number of a duration. Raises EvaluationError if it exceeds the longest duration."""
    digits, _, rest = number.partition(".")
    if len(digits.lstrip("0")) > _DIGITS:
        raise EvaluationError(f"{_NO_CONVERSION} 'google.protobuf.Duration'")
    return Fraction(f"{digits.lstrip('0') or 0}.{rest[:_DIGITS] or 0}")


_DIGITS: Final = 20


def timestamp_text(value: Timestamp) -> str:
    """Format a timestamp as RFC 3339 with as many decimals as needed."""
    seconds, nanos = divmod(int(value), SECOND)
    text = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}{_fraction(nanos)}Z"


def duration_text(value: Duration) -> str:
    """Format a duration in seconds: `5400s`, `1.5s`."""
    seconds, nanos = divmod(abs(int(value)), SECOND)
    return f"{'-' if value < 0 else ''}{seconds}{_fraction(nanos)}s"


def _fraction(nanos: int) -> str:
    return f".{nanos:09d}".rstrip("0") if nanos else ""


def _zone(name: str) -> tzinfo:
    offset = re.fullmatch(r"([+-]?)(\d\d):(\d\d)", name)
    if offset:
        minutes = int(offset[2]) * 60 + int(offset[3])
        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise EvaluationError(f"unknown time zone {name}") from None


def _moment(value: Timestamp, zone: str) -> datetime:
    moment = _EPOCH + timedelta(microseconds=int(value) // 1000)
    return moment if zone == "UTC" else moment.astimezone(_zone(zone))


def _of_timestamp(part: Callable[[datetime], int]) -> Function:
    return lambda value, zone="UTC": part(_moment(value, zone))


_PARTS: Final[dict[str, Callable[[datetime], int]]] = {
    "getFullYear": lambda time: time.year,
    "getMonth": lambda time: time.month - 1,
    "getDate": lambda time: time.day,
    "getDayOfMonth": lambda time: time.day - 1,
    "getDayOfWeek": lambda time: time.isoweekday() % 7,
    "getDayOfYear": lambda time: time.timetuple().tm_yday - 1,
    "getHours": lambda time: time.hour,
    "getMinutes": lambda time: time.minute,
    "getSeconds": lambda time: time.second,
    "getMilliseconds": lambda time: time.microsecond // 1000,
}


def _whole(unit: int) -> Function:
    return lambda value: int(value) // unit if value >= 0 else -(-int(value) // unit)


FUNCTIONS: Final[dict[str, Function]] = {
    **{
        f"timestamp :: {name}({zone}) -> int": _of_timestamp(part)
        for name, part in _PARTS.items()
        for zone in ("", "string")
    },
    "duration :: getHours() -> int": _whole(3600 * SECOND),
    "duration :: getMinutes() -> int": _whole(60 * SECOND),
    "duration :: getSeconds() -> int": _whole(SECOND),
    "duration :: getMilliseconds() -> int": _whole(1_000_000),
}
