"""Parsing of integers of any length from untrusted text."""

from __future__ import annotations

from typing import Final

_MAX_DIGITS: Final = 40
_BEYOND: Final = 10**_MAX_DIGITS


def parse_digits(text: str) -> int | None:
    """Return the number in a text of ASCII digits (see parse_integer), None for other text.

    `str.isdigit` and `str.isdecimal` also accept digits of other scripts, and `²`, which `int`
    refuses.
    """
    return parse_integer(text) if has_only_digits(text) else None


def has_only_digits(text: str) -> bool:
    """Report whether a text is one or more ASCII digits."""
    return text.isascii() and text.isdigit()


def parse_integer(text: str) -> int:
    """Return the number; for more than 40 digits, return one beyond all bounds.

    Python raises an exception for more than 4,300 digits, which code that matched a pattern does
    not expect. Such numbers are only compared with bounds, so their value is not needed.
    """
    if len(text) <= _MAX_DIGITS:
        return int(text)
    digits = text.lstrip("+-").lstrip("0") or "0"
    number = int(digits) if len(digits) <= _MAX_DIGITS else _BEYOND
    return -number if text[0] == "-" else number
