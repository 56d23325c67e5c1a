"""Validation of strings by the `format` (`k8s.io/kube-openapi` strfmt) or `pattern` of a schema."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
import unicodedata
from collections.abc import Callable
from datetime import date
from functools import cache
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from kapy.kube import duration
from kapy.kube.regexp import BadPattern, Regexp, check, compile_pattern
from kapy.kube.text_cache import text_cache

Format: TypeAlias = Callable[[str], bool]


def format_of(name: str) -> Format | None:
    """Return the validator of a format, None if the format is unknown."""
    return _FORMATS.get(name.replace("-", ""))


def _pattern(text: str, flags: int = 0) -> Format:
    @cache
    def compiled() -> re.Pattern[str]:
        return re.compile(text, re.ASCII | flags)

    return lambda value: compiled().fullmatch(value) is not None


_DATE_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:?\d\d)", re.ASCII
)


def _is_date(value: str) -> bool:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


@text_cache(4096)
def _is_date_time(value: str) -> bool:
    match = _DATE_TIME.fullmatch(value)
    if not match or not _is_date(match[1]):
        return False
    hour, minute, second = int(match[2]), int(match[3]), int(match[4])
    return hour < 24 and minute < 60 and second < 61


def _is_byte(value: str) -> bool:
    if not value:
        return False
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _valid_if_parsed(parse: Callable[[str], object]) -> Format:
    def check(value: str) -> bool:
        try:
            parse(value)
        except ValueError:
            return False
        return True

    return check


def _cidr(value: str) -> None:
    if "/" not in value or not re.fullmatch(r"\d+", value.rpartition("/")[2], re.ASCII):
        raise ValueError
    ipaddress.ip_interface(_without_zeros(value))


_ZEROS: Final = re.compile(r"(?<![0-9a-fA-F:.])0+(?=[0-9])|(?<=\.)0+(?=[0-9])")


def _without_zeros(value: str) -> str:
    """Return an IPv4 address without leading zeros, which Go's older parser accepts."""
    return value if ":" in value else _ZEROS.sub("", value.partition("/")[0]) + _length_of(value)


def _length_of(value: str) -> str:
    _, slash, length = value.partition("/")
    return slash + length


def _ipv4(value: str) -> None:
    ipaddress.IPv4Address(_without_zeros(value))


def _is_uri(value: str) -> bool:
    """Report whether a text is an absolute URI, an absolute path or `*`, as Go's
    `url.ParseRequestURI` decides.
    """
    if value == "*":
        return True
    if re.search(r"[\x00-\x20\x7f]", value):
        return False
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return value.startswith("/") or bool(parts.scheme)


_ANY = "[a-zA-Z0-9LS]"
_HOSTNAME = _pattern(
    rf"{_ANY}(?:-?{_ANY}{{0,62}})?|"
    rf"(?:{_ANY}(?:[a-zA-Z0-9LS-]{{0,61}}{_ANY})?\.)+[a-zA-ZL]{{2,63}}"
)


def _is_hostname(value: str) -> bool:
    """Report whether a text is a host name: one label, or several with a last one of letters.

    Letters and symbols of all alphabets count; lengths are in UTF-8 bytes.
    """
    if len(value.encode()) > 255 or any(len(part.encode()) > 63 for part in value.split(".")):
        return False
    return _HOSTNAME("".join(map(_letter_or_symbol, value)))


def _letter_or_symbol(character: str) -> str:
    """Map a non-ASCII letter to L, any symbol to S, and keep other characters."""
    category = unicodedata.category(character)[0]
    if category == "L":
        return character if character.isascii() else "L"
    return category if category == "S" else character


_WORDS = re.compile(
    r"(?:\d+\s*(?:ns|us|ms|s|m|h|d|w|nanoseconds?|nanos?|microseconds?|micros?|milliseconds?|"
    r"millis?|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?)\s*)+",
    re.ASCII,
)


def _is_duration(value: str) -> bool:
    return _valid_if_parsed(duration.parse)(value) or _WORDS.fullmatch(value) is not None


def _uuid(version: str = "") -> Format:
    middle = f"{version}[0-9a-f]{{3}}" if version else "[0-9a-f]{4}"
    return _pattern(rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{middle}-?[0-9a-f]{{4}}-?[0-9a-f]{{12}}", re.I)


_FORMATS: Final[dict[str, Format]] = {
    "bsonobjectid": _pattern("[0-9a-fA-F]{24}"),
    "uri": _is_uri,
    "email": _pattern(r"[^@\s<>]+@[^@\s<>]+|[^@<>]*<[^@\s<>]+@[^@\s<>]+>"),
    "hostname": _is_hostname,
    "ipv4": _valid_if_parsed(_ipv4),
    "ipv6": _valid_if_parsed(ipaddress.IPv6Address),
    "cidr": _valid_if_parsed(_cidr),
    "mac": _pattern(
        r"(?:[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2})"
        r"|(?:[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\2){6}[0-9a-f]{2})"
        r"|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}",
        re.I,
    ),
    "uuid": _uuid(),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4"),
    "uuid5": _uuid("5"),
    "isbn10": _pattern(r"(?:[0-9][- ]?){9}[0-9X]"),
    "isbn13": _pattern(r"(?:[0-9][- ]?){12}[0-9]"),
    "isbn": _pattern(r"(?:[0-9][- ]?){9}[0-9X]|(?:[0-9][- ]?){12}[0-9]"),
    "creditcard": _pattern(r"(?:[0-9][- ]?){12,18}[0-9]"),
    "ssn": _pattern(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "hexcolor": _pattern(r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _pattern(r"rgb\(\s*\d{1,3}\s*,\s*\d{1,3}\s*,\s*\d{1,3}\s*\)"),
    "byte": _is_byte,
    "password": lambda _: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": lambda value: bool(re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", value)),
    "k8slongname": lambda value: bool(
        re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", value)
    ),
}


_MAX_CACHED_LENGTH: Final = 64
_CACHE_SIZE: Final = 64


class Pattern:
    """One pattern, compiled at its first use. text: as in the schema.

    A few short matching values are cached, because names and versions repeat.
    """

    __slots__ = ("_error", "_known", "_regexp", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._error: str | None = None
        self._known: set[str] = set()
        self._regexp: Regexp | None = None

    @property
    def error(self) -> str:
        """Return Go's error message if the pattern is invalid, else ""."""
        if self._error is None:
            try:
                check(self.text)
                self._error = ""
            except BadPattern as error:
                self._error = str(error)
        return self._error

    def matches(self, value: str) -> bool:
        """Report whether the pattern matches anywhere in the value; an invalid one never does.

        Raises TooCostly.
        """
        if value in self._known:
            return True
        regexp = self._regexp
        try:
            if regexp is None or regexp.dropped:
                if self.error:
                    return False
                regexp = self._regexp = compile_pattern(self.text)
            result = regexp.matches(value)
        except BadPattern as error:
            self._error = str(error)
            return False
        if result and len(value) <= _MAX_CACHED_LENGTH and len(self._known) < _CACHE_SIZE:
            self._known.add(value)
        return result
