"""Checks of single values against Ignition 2.3, and the report of problems in a Container Linux
Config.

Each check returns the problem, or "". systemd unit files are checked as far as the Container Linux
Config Transpiler does.
"""

from __future__ import annotations

import base64
import binascii
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, quote, unquote_to_bytes

from kapy.kube.digits import has_only_digits

_VERBS: Final = ("is ", "has ", "must ", "cannot ")


@dataclass(slots=True)
class Report:
    """Problems of a config. errors: always refused. warnings: refused in strict mode only."""

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def fail(self, path: str, problem: str) -> None:
        """Add an error about the field at a path."""
        self.errors.append(_sentence(path, problem))

    def warn(self, path: str, problem: str) -> None:
        """Add a warning about the field at a path."""
        self.warnings.append(_sentence(path, problem))

    def check(self, path: str, problem: str) -> None:
        """Add an error about the field at a path, unless the problem is empty."""
        if problem:
            self.fail(path, problem)


def _sentence(path: str, problem: str) -> str:
    return f"{path} {problem}" if problem.startswith(_VERBS) else f"{path}: {problem}"


UNIT_TYPES: Final = frozenset(
    {
        *(".service", ".socket", ".device", ".mount", ".automount", ".swap", ".target"),
        *(".path", ".timer", ".snapshot", ".slice", ".scope"),
    }
)
NETWORK_TYPES: Final = frozenset({".link", ".netdev", ".network"})
DROP_IN_TYPES: Final = frozenset({".conf"})
FORMATS: Final = {"ext4": 16, "btrfs": 256, "xfs": 12, "swap": 15, "vfat": 11}
"""Kinds of file systems, and the longest label of each in bytes."""

_GUID: Final = re.compile(r"(?:[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})?")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_HOST: Final = re.compile(
    r"(?:[^\s<>\"\\^`{|}@\[\]%#?/:]|%[0-9a-fA-F]{2})*|\[[0-9a-fA-F:.]*(?:%25[\w.-]+)?\]"
)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9a-fA-F]{2})")
_WRITTEN_PLACE: Final = re.compile(r"[A-Za-z0-9%/:@!$&'()*+,;=~._\[\]-]*")
_PAYLOAD: Final = re.compile(r"[^\x00-\x20\x7f-\U0010ffff<>#\"{}|\\^\[\]`]*")
_TOKEN: Final = r"[!#$%&'*+.^_`{|}~0-9A-Za-z-]+"
_PARAMETER: Final = rf';{_TOKEN}=(?:"(?:[^"\\]|\\.)*"|{_TOKEN})'
_MEDIA: Final = re.compile(
    r"(?:(?:[xX]-|text|image|audio|video|application|message|multipart)"
    rf"[!#$%&'*+.^_`{{|}}~0-9A-Za-z-]*/(?:{_TOKEN})?)?(?:{_PARAMETER})*(;base64)?,"
)
_REMOTE: Final = frozenset({"http", "https", "oem", "tftp", "s3"})
_SHA512_DIGITS: Final = 128
_HIGHEST_MODE: Final = 0o7777
_QUANTITY: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([^0-9.]*)")
_UNITS: Final = {name: 1 << (10 * power) for power, name in enumerate("BKMGTPE") if power}
_MEBIBYTE: Final = 1 << 20
_LARGEST: Final = float((1 << 63) - 1)


def absolute_path(path: str) -> str:
    """Return the problem of a path."""
    return "" if path.startswith("/") else f"{path[:80]!r} is not an absolute path"


def mode(value: int) -> str:
    """Return the problem of permission bits."""
    return "" if 0 <= value <= _HIGHEST_MODE else "is no mode: use at most 07777"


def guid(value: str) -> str:
    """Return the problem of a GUID."""
    return "" if _GUID.fullmatch(value) else f"{value[:80]!r} is no GUID"


def hash_sum(value: str) -> str:
    """Return the problem of a hash."""
    function, _, digest = value.partition("-")
    if function != "sha512":
        return f"the hash function {function[:40]!r} is not known: use sha512"
    return "" if len(digest) == _SHA512_DIGITS else f"the sum must have {_SHA512_DIGITS} digits"


def extension(name: str, types: frozenset[str]) -> str:
    """Return the problem of a file name."""
    ending = posixpath.basename(name).rpartition(".")
    if ending[1] and f".{ending[2]}" in types:
        return ""
    return f"{name[:80]!r} must end with one of {', '.join(sorted(types))}"


def unit(text: str) -> str:
    """Return the problem of a unit file."""
    try:
        sections_of(text)
    except BadUnit as error:
        return f"is no unit file: {error}"
    return ""


def cannot_be_enabled(text: str) -> bool:
    """Return whether a unit file that can be read has options, and none in its section Install."""
    try:
        sections = sections_of(text)
    except BadUnit:
        return False
    return bool(sections) and "Install" not in sections


def url(text: str) -> str:
    """Return the problem of a source's URL; an empty URL has none."""
    if not text:
        return ""
    match = _SCHEME.match(text)
    if not match or not is_url(text):
        return "is no URL"  # not quoted, because it may contain a password
    scheme = match[1].lower()
    if scheme == "data":
        return "" if _is_data(text) else "is no data URL"
    if scheme not in _REMOTE:
        return f"{scheme[:40]!r} is no scheme of a source: use http, https, tftp, s3 or data"
    query = parse_qs(text.partition("#")[0].partition("?")[2], keep_blank_values=True)
    if scheme == "s3" and query.get("versionId", ["x"])[0] == "":
        return "versionId is empty"
    return ""


def is_url(text: str) -> bool:
    """Return whether a text is a URL, or a path."""
    rest, _, fragment = text.partition("#")
    if _CONTROL.search(text) or _BAD_ESCAPE.search(fragment):
        return False
    match = _SCHEME.match(rest)
    if match is None:
        first = rest.partition("?")[0].partition("/")[0]
        return ":" not in first and _BAD_ESCAPE.search(rest.partition("?")[0]) is None
    place = rest[match.end() :].partition("?")[0]
    if not place.startswith("/"):
        return True  # the rest after the scheme is opaque
    if place.startswith("//"):
        authority, _, place = place[2:].partition("/")
        host, colon, port = authority.rpartition("@")[2].rpartition(":")
        if not colon or port.endswith("]"):
            host, port = authority.rpartition("@")[2], ""
        if not _HOST.fullmatch(host) or not (port == "" or has_only_digits(port)):
            return False
    return _BAD_ESCAPE.search(place) is None


def escape_url(text: str) -> str:
    """Return a URL as Go prints it: what its path cannot contain is escaped."""
    match = _SCHEME.match(text)
    if match is None or match[1].lower() == "data":
        return text
    rest, mark, fragment = text.partition("#")
    place, question, query = rest.partition("?")
    if not _WRITTEN_PLACE.fullmatch(place):
        place = quote(unquote_to_bytes(place), safe="$&+,/:;=@-_.~")
    return match[1].lower() + place[len(match[1]) :] + question + query + mark + fragment


def _is_data(text: str) -> bool:
    media = _MEDIA.match(text, len("data:"))
    if media is None:
        return False
    payload = text[media.end() :]
    if media[1] is None:
        return _PAYLOAD.fullmatch(payload) is not None and _BAD_ESCAPE.search(payload) is None
    try:
        base64.b64decode(payload.replace("\n", ""), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def mebibytes(text: str) -> int | None:
    """Return a size such as `1GiB` or `512M` in MiB. Raises ValueError; the message says why."""
    if not text:
        return None
    size = 0.0
    rest = text.removeprefix("+") if text[0] == "+" else text.removeprefix("-")
    if rest != "0":
        if not rest or len(rest) > 100 or _QUANTITY.sub("", rest):
            raise ValueError(f"{text[:40]!r} is no size: use a number with a unit, as 10GiB")
        quantities: list[tuple[str, str]] = _QUANTITY.findall(rest)
        size = sum(float(number) * _unit(name, text) for number, name in quantities)
    if text[0] == "-" and size:
        raise ValueError(f"{text[:40]!r} is negative")
    if size > _LARGEST:
        raise ValueError(f"{text[:40]!r} is too large")
    if int(size) % _MEBIBYTE:
        raise ValueError(f"{text[:40]!r} is no multiple of 1MiB")
    return int(size) // _MEBIBYTE


def _unit(name: str, text: str) -> int:
    if name == "B":
        return 1
    factor = _UNITS.get(name[:1])
    if factor is None or name[1:] not in ("iB", "B"):
        raise ValueError(f"{text[:40]!r} has no unit that is known: use KiB, MiB or GiB")
    return factor


def nonempty_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields that have a value; empty ones and zeros are left out, as Go's `omitempty` does."""
    return {name: value for name, value in fields.items() if value}


_LONGEST_LINE: Final = 2048
_BUFFER: Final = 4096
_SPACE: Final = " \t\n\v\f\r\x85\xa0"


class BadUnit(ValueError):
    """The text is no unit file; the message says why."""


_State = Callable[[], "_State | None"]


class _Lexer:
    """Reads a unit through a buffer of 4096 bytes, like upstream's lexer: a line is only known to
    be too long when it does not fit."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = self._buffered = 0
        self._section = ""
        self.sections: set[str] = set()
        """Sections with an option."""

    def run(self) -> None:
        state: _State | None = self._before_sections
        while state is not None:
            if self._buffered - self._at >= _LONGEST_LINE:
                ahead = self._data[self._at : self._at + _LONGEST_LINE]
                if b"\n" not in ahead and b"\r" not in ahead:
                    raise BadUnit(f"a line is longer than {_LONGEST_LINE} bytes")
            state = state()

    def _before_sections(self) -> _State | None:
        sign = self._sign()
        if sign == "":
            return None
        if sign == "[":
            return self._section_name
        if sign in "#;":
            self._skip_line()
        return self._before_sections

    def _section_name(self) -> _State | None:
        name, ended = self._until(b"]")
        if not ended:
            raise BadUnit("a section has no end")
        self._section = name[:-1].decode("utf-8", "replace")
        return self._after_section_name

    def _after_section_name(self) -> _State | None:
        if self._line().strip():
            raise BadUnit(f"something follows the name of section {self._section[:40]}")
        return self._in_section

    def _in_section(self) -> _State | None:
        before = self._at
        sign = self._sign()
        if sign == "":
            return None
        if sign in _SPACE or sign.isspace():
            return self._in_section
        if sign == "[":
            return self._section_name
        if sign in "#;":
            self._skip_line()
            return self._in_section
        self._at = before
        return self._option

    def _option(self) -> _State | None:
        while (sign := self._sign()) != "=":
            if sign == "":
                raise BadUnit("an option has no value")
            if sign in "\r\n":
                raise BadUnit("an option has no value")
        while True:
            line = self._line()
            if not line.strip() or not line.endswith(b"\\"):
                break
        self.sections.add(self._section)
        return self._in_section

    def _skip_line(self) -> None:
        while self._line().removesuffix(b" ").endswith(b"\\"):
            pass

    def _line(self) -> bytes:
        line, _ = self._until(b"\n")
        return line.removesuffix(b"\r").removesuffix(b"\n")

    def _sign(self) -> str:
        """Return the next character; the empty text at the end."""
        data = self._data
        if self._at >= len(data):
            return ""
        first = data[self._at]
        size = 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
        if self._at + size > self._buffered:
            self._fill()
        sign = data[self._at : self._at + size].decode("utf-8", "replace")
        self._at += size
        return sign[:1]

    def _until(self, delimiter: bytes) -> tuple[bytes, bool]:
        """Return the text up to and including a delimiter, and whether the delimiter was found."""
        start = self._at
        while True:
            result = self._data.find(delimiter, self._at, self._buffered)
            if result >= 0:
                self._at = result + 1
                return self._data[start : self._at], True
            if self._buffered >= len(self._data):
                self._at = len(self._data)
                return self._data[start:], False
            if self._buffered - self._at >= _BUFFER:
                self._at = self._buffered
            self._fill()

    def _fill(self) -> None:
        self._buffered = min(len(self._data), self._at + _BUFFER)


def sections_of(text: str) -> set[str]:
    """Return the sections of a unit file that have an option. Raises BadUnit."""
    lexer = _Lexer(text.encode("utf-8", "replace"))
    lexer.run()
    return lexer.sections
