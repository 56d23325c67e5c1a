"""systemd unit files, as far as the Container Linux Config Transpiler checks them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

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
        """The next character; the empty text at the end."""
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
    """The sections of a unit file that have an option. Raises BadUnit."""
    lexer = _Lexer(text.encode("utf-8", "replace"))
    lexer.run()
    return lexer.sections
