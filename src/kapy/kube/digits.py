"""Whole numbers in text that may have any number of digits."""

from __future__ import annotations

from typing import Final

_MOST: Final = 40
_BEYOND: Final = 10**_MOST


def whole(text: str) -> int:
    """The number that digits are; of more than 40 of them, one that is beyond all bounds.

    Python refuses to read more than 4,300 digits, with an exception that nobody expects of a
    number which a pattern has found; and what is compared with a bound need not be read.
    """
    if len(text) <= _MOST:
        return int(text)
    digits = text.lstrip("+-").lstrip("0") or "0"
    number = int(digits) if len(digits) <= _MOST else _BEYOND
    return -number if text[0] == "-" else number
