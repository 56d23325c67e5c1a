"""Go's durations as text ("1h30m", "1.5s"), which is how `metav1.Duration` travels."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

_UNITS = {
    "ns": Fraction(1, 1000),
    "us": Fraction(1),
    "µs": Fraction(1),
    "μs": Fraction(1),
    "ms": Fraction(1000),
    "s": Fraction(1_000_000),
    "m": Fraction(60_000_000),
    "h": Fraction(3_600_000_000),
}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_WHOLE = re.compile(rf"[+-]?(?:{_PART.pattern})+", re.ASCII)


def parse(text: str) -> timedelta:
    """The duration that `text` says, to the microsecond. Raises ValueError with Go's sentence."""
    if text in ("0", "+0", "-0"):
        return timedelta(0)
    if not _WHOLE.fullmatch(text):
        raise ValueError(f'time: invalid duration "{text}"')
    total = sum(
        (Fraction(number.rstrip(".")) * _UNITS[unit] for number, unit in _PART.findall(text)),
        Fraction(0),
    )
    return timedelta(microseconds=int(-total if text[0] == "-" else total))


def text(duration: timedelta) -> str:
    """The duration as Go prints it: `1h0m0s`, `1.5s`, `250ms`, `0s`."""
    micros = duration // timedelta(microseconds=1)
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    if micros == 0:
        return "0s"
    if micros < 1000:
        return f"{sign}{micros}µs"
    if micros < 1_000_000:
        return f"{sign}{_decimal(micros, 1000)}ms"
    minutes, rest = divmod(micros, 60_000_000)
    hours, minutes = divmod(minutes, 60)
    head = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{head}{_decimal(rest, 1_000_000)}s"


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    digits = len(str(unit)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0") if rest else str(whole)
