"""Go's durations as text ("1h30m", "1.5s"), which is how `metav1.Duration` travels."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

_UNITS = {
    "ns": Fraction(1),
    "us": Fraction(1000),
    "µs": Fraction(1000),
    "μs": Fraction(1000),
    "ms": Fraction(1_000_000),
    "s": Fraction(1_000_000_000),
    "m": Fraction(60_000_000_000),
    "h": Fraction(3_600_000_000_000),
}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_WHOLE = re.compile(rf"[+-]?(?:{_PART.pattern})+", re.ASCII)
_CANONICAL = re.compile(r"(?:[1-9][0-9]{0,5}h[1-5]?[0-9]m|[1-5]?[1-9]m|[1-5]0m)?[1-5]?[0-9]s")
_LONGEST = 2**63


def parse(text: str) -> timedelta:
    """The duration that `text` says, to the microsecond. Raises ValueError with Go's sentence."""
    nanos = _nanoseconds(text)
    return timedelta(microseconds=abs(nanos) // 1000 * (-1 if nanos < 0 else 1))


def text(duration: timedelta) -> str:
    """The duration as Go prints it: `1h0m0s`, `1.5s`, `250ms`, `0s`."""
    return _text(duration // timedelta(microseconds=1) * 1000)


def canonical(text: str) -> str:
    """The duration as Go prints it, to the nanosecond. Raises ValueError with Go's sentence."""
    if _CANONICAL.fullmatch(text):
        return text  # as most are
    nanos = _nanoseconds(text)
    if not -_LONGEST <= nanos < _LONGEST:
        raise ValueError(f'time: invalid duration "{text}"')
    return _text(nanos)


def _nanoseconds(text: str) -> int:
    if text in ("0", "+0", "-0"):
        return 0
    if not _WHOLE.fullmatch(text):
        raise ValueError(f'time: invalid duration "{text}"')
    total = sum(
        (Fraction(number.rstrip(".")) * _UNITS[unit] for number, unit in _PART.findall(text)),
        Fraction(0),
    )
    return int(-total if text[0] == "-" else total)


def _text(nanos: int) -> str:
    sign, nanos = ("-", -nanos) if nanos < 0 else ("", nanos)
    if nanos == 0:
        return "0s"
    for largest, unit, name in ((1000, 1, "ns"), (10**6, 1000, "µs"), (10**9, 10**6, "ms")):
        if nanos < largest:
            return f"{sign}{_decimal(nanos, unit)}{name}"
    minutes, rest = divmod(nanos, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    head = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{head}{_decimal(rest, 10**9)}s"


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    digits = len(str(unit)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0") if rest else str(whole)
