"""The types of plain YAML scalars in `sigs.k8s.io/yaml`: YAML 1.1 with Go's numbers.

Boolean words count (`yes`, `on`, `y` …). Base-60 numbers and timestamps are strings; they are
quoted in output, because other readers of YAML 1.1 interpret them.
"""

from __future__ import annotations

import base64
import math
import re
from datetime import date
from functools import lru_cache
from struct import Struct
from typing import Any, Final

from yaml.constructor import ConstructorError

from kapy.kube.go_literals import float_text

TRUE: Final = ("y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE")
_FALSE: Final = ("n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE")
_NULL: Final = ("", "~", "null", "Null", "NULL")
_NAN: Final = (".nan", ".NaN", ".NAN")
_INFINITE: Final = tuple(
    f"{sign}.{item}" for sign in ("", "+", "-") for item in ("inf", "Inf", "INF")
)

_TAG: Final = "tag:yaml.org,2002:"
STR, NULL, BOOL, INT, FLOAT, MERGE = (
    f"{_TAG}{item}" for item in ("str", "null", "bool", "int", "float", "merge")
)
TIMESTAMP: Final = f"{_TAG}timestamp"
_BINARY: Final = f"{_TAG}binary"
_NO_LINES: Final = str.maketrans("", "", "\r\n")
_SINGLE: Final = Struct("f")
_LARGEST_SINGLE: Final = 3.4028235677973366e38
"""From here on a number is infinite when rounded to 32 bits."""

_WORDS: Final = {
    **dict.fromkeys(TRUE + _FALSE, BOOL),
    **dict.fromkeys(_NULL, NULL),
    **dict.fromkeys(_NAN + _INFINITE, FLOAT),
    "<<": MERGE,
}
_NUMBER_STARTS: Final = frozenset("+-0123456789")
_INTEGER: Final = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))", re.ASCII
)
_BASES: Final = (16, 2, 8, 10)
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_AFTER_POINT: Final = re.compile(r"\.[0-9]+([eE][-+]?[0-9]+)?", re.ASCII)
_BASE_60: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?", re.ASCII)
_TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:[Tt](?P<zoned>[0-9:.,]+)(?:Z|[-+](?:[01][0-9]|2[0-4]):[0-5][0-9])"
    r"| (?P<bare>[0-9:.,]+))?",
    re.ASCII,
)
_TIME: Final = re.compile(r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?", re.ASCII)


def tag_of(word: str) -> str:
    """Return the tag of a plain scalar."""
    tag = _WORDS.get(word)
    if tag is not None:
        return tag
    first = word[0]
    if first in _NUMBER_STARTS:
        return TIMESTAMP if _is_timestamp(word) else _tag_of_number(word.replace("_", ""))
    if first == "." and _AFTER_POINT.fullmatch(word) and math.isfinite(float(word)):
        return FLOAT
    return STR


short_tag: Final = lru_cache(maxsize=8192)(tag_of)
"""The same for short words; cached, because most words repeat."""


def needs_quotes(word: str) -> bool:
    """Report whether a string must be quoted to be read back as a string."""
    tag = tag_of(word)
    return tag not in (STR, MERGE) or bool(_BASE_60.fullmatch(word))


class UnsupportedValue(ValueError):
    """A value that JSON cannot represent: a number that is infinite or none."""


def plain_value(tag: str, word: str) -> Any:
    """Return the value of a plain scalar with the tag that `tag_of` found."""
    if tag == NULL:
        return None
    if tag == BOOL:
        return word in TRUE
    if tag not in (INT, FLOAT):
        return word
    plain = word.replace("_", "")
    whole = _integer(plain) if tag == INT else None
    return float(plain.replace(".inf", "inf").replace(".nan", "nan")) if whole is None else whole


def tagged_value(event: Any, *, binary: bool) -> Any:
    """Return the value of a scalar with an explicit tag. Raises ConstructorError.

    Only some tags mean something; what has another one is a string. binary: return bytes for
    `!!binary`, where Go puts them into a string.
    """
    tag, word = event.tag, event.value
    if tag == _BINARY:
        try:
            decoded = base64.b64decode(word.translate(_NO_LINES), validate=True)
        except ValueError:
            problem = "!!binary value contains invalid base64 data"
            raise ConstructorError(None, None, problem, event.start_mark) from None
        return decoded if binary else decoded.decode("utf-8", "replace")
    if tag not in (BOOL, INT, FLOAT, NULL, TIMESTAMP):
        return word
    result = tag_of(word)
    if result == TIMESTAMP != tag:
        result = STR
    if result == tag:
        return plain_value(result, word)
    if (result, tag) == (INT, FLOAT) and (whole := plain_value(result, word)) < 1 << 63:
        return float(whole)
    value = f"cannot decode {_short(result)} `{word}` as a {_short(tag)}"
    raise ConstructorError(None, None, value, event.start_mark)


def _short(tag: str) -> str:
    return f"!!{tag.removeprefix(_TAG)}"


def key_name(number: float) -> str:
    """Return a float as the name of a member: Go prints it with the precision of 32 bits."""
    if not math.isfinite(number) or abs(number) > _LARGEST_SINGLE:
        return ".nan" if math.isnan(number) else ".inf" if number > 0 else "-.inf"
    single = _SINGLE.unpack(_SINGLE.pack(number))[0]
    shortest = next(
        text
        for digits in range(1, 11)
        if _SINGLE.pack(float(text := f"{single:.{digits}g}")) == _SINGLE.pack(single)
    )
    return float_text(float(shortest))


def _tag_of_number(plain: str) -> str:
    if _integer(plain) is not None:
        return INT
    if _FLOAT.fullmatch(plain) and math.isfinite(float(plain)):
        return FLOAT
    return STR


def _integer(plain: str) -> int | None:
    """Parse an integer as Go does, signed or unsigned, within 64 bits."""
    match = _INTEGER.fullmatch(plain)
    if match is None:
        return None
    sign, *digits = match.groups()
    value = next(
        int(digit, base) for digit, base in zip(digits, _BASES, strict=True) if digit is not None
    )
    if sign == "-":
        return -value if value <= 2**63 else None
    return value if value < (2**63 if sign else 2**64) else None


def _is_timestamp(word: str) -> bool:
    match = _TIMESTAMP.fullmatch(word)
    if match is None:
        return False
    time = match["zoned"] or match["bare"]
    return _is_date(*match.groups()[:3]) and (time is None or _is_time(time))


def _is_date(year: Any, month: Any, day: Any) -> bool:
    try:
        date(int(year) or 4, int(month), int(day))  # year 0 is replaced by a leap year
    except ValueError:
        return False
    return True


def _is_time(text: str) -> bool:
    match = _TIME.fullmatch(text)
    if match is None:
        return False
    hours, minutes, seconds = map(int, match.groups())
    return hours < 24 and minutes < 60 and seconds < 60
