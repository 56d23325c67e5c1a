"""Go durations as text ("1h30m", "1.5s"), the format of `metav1.Duration`."""

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
