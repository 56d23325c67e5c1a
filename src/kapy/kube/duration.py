"""Durations as text: those of Go ("1h30m", "1.5s"), the format of `metav1.Duration`, and ages.

Ages are printed as kubectl and clusterctl print them (`k8s.io/apimachinery/pkg/util/duration`).
"""

from __future__ import annotations

import re
from datetime import timedelta

from kapy.kube.digits import parse_integer
from kapy.kube.errors import shorten

_SECOND = 10**9
_UNITS = {
    "ns": 1,
    "us": 1000,
    "µs": 1000,
    "μs": 1000,
    "ms": 10**6,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_PART = re.compile(r"(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)")
_WHOLE = re.compile(r"[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+", re.ASCII)
_FRACTION = r"(?:\.[0-9]{0,8}[1-9])?"
_CANONICAL = re.compile(
    r"0s|-?(?:"
    rf"(?:[1-9][0-9]{{0,5}}h[1-5]?[0-9]m|[1-5]?[1-9]m|[1-5]0m)[1-5]?[0-9]{_FRACTION}s"
    rf"|(?:[1-9]|[1-5][0-9]){_FRACTION}s)"
)
_MAX_NANOSECONDS = 2**63
_COUNTING = 20
"""The most digits of a fraction that can affect a nanosecond."""


def parse(text: str) -> timedelta:
    """Parse a duration to the microsecond. Raises ValueError with Go's message."""
    nanos = _nanoseconds(text)
    return timedelta(microseconds=abs(nanos) // 1000 * (-1 if nanos < 0 else 1))


def text(duration: timedelta) -> str:
    """Return the duration in Go's format: `1h0m0s`, `1.5s`, `250ms`, `0s`."""
    return _text(duration // timedelta(microseconds=1) * 1000)


def canonical(text: str) -> str:
    """Normalize a duration to Go's format, to the nanosecond. Raises ValueError with Go's
    message.
    """
    if _CANONICAL.fullmatch(text):
        return text  # fast path for most texts
    return _text(_nanoseconds(text))


def _nanoseconds(text: str) -> int:
    if text in ("0", "+0", "-0"):
        return 0
    if not _WHOLE.fullmatch(text):
        raise _invalid(text)
    total = 0
    for digits, rest, unit in _PART.findall(text):
        total += parse_integer(digits or "0") * _UNITS[unit]
        if fraction := rest[:_COUNTING]:
            total += int(fraction) * _UNITS[unit] // 10 ** len(fraction)
    total = -total if text[0] == "-" else total
    if not -_MAX_NANOSECONDS <= total < _MAX_NANOSECONDS:
        raise _invalid(text)
    return total


def _invalid(text: str) -> ValueError:
    return ValueError(shorten(f'time: invalid duration "{text}"'))


def _text(nanos: int) -> str:
    sign, nanos = ("-", -nanos) if nanos < 0 else ("", nanos)
    if nanos == 0:
        return "0s"
    for largest, unit, name in ((1000, 1, "ns"), (10**6, 1000, "µs"), (_SECOND, 10**6, "ms")):
        if nanos < largest:
            return f"{sign}{_decimal(nanos, unit)}{name}"
    minutes, rest = divmod(nanos, 60 * _SECOND)
    hours, minutes = divmod(minutes, 60)
    head = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{head}{_decimal(rest, _SECOND)}s"


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    digits = len(str(unit)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0") if rest else str(whole)


def age(passed: timedelta) -> str:
    """Return a duration in at most two units: `47s`, `3m5s`, `12m`, `4h30m`, `3d4h`, `3y20d`."""
    seconds = int(passed.total_seconds())
    if seconds < -1:
        return "<invalid>"
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 10:
        return two_units(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return two_units(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    return _in_days(hours, days)


def _in_days(hours: int, days: int) -> str:
    if hours < 192:
        return two_units(days, "d", hours % 24, "h")
    if days < 365 * 2:
        return f"{days}d"
    if days < 365 * 8:
        return two_units(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def two_units(many: int, unit: str, rest: int, smaller: str) -> str:
    return f"{many}{unit}{rest}{smaller}" if rest else f"{many}{unit}"
