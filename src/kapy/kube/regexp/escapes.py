"""Single characters of a pattern: how they are escaped, and how RE2 is told of them."""

from __future__ import annotations

import re
from typing import Final

_SAFE: Final = re.compile(r"[A-Za-z0-9 _/,:;=@%&~\x80-\U0010ffff]+")
_OTHER: Final = re.compile(r"[^A-Za-z0-9 _/,:;=@%&~\x80-\U0010ffff]")
_CONTROLS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_OCTAL: Final = re.compile(r"\\(?:[1-7](?=[0-7])|0)[0-7]{0,2}")
_HEX: Final = "0123456789abcdefABCDEF"
_INVALID: Final = "invalid escape sequence"
_LAST: Final = 0x10FFFF


class BadSyntax(Exception):
    """What is wrong, and the part of the pattern where."""

    def __init__(self, problem: str, where: str) -> None:
        super().__init__(problem, where)
        self.problem = problem
        self.where = where


def literal(text: str) -> str:
    """Text that stands for itself, for RE2."""
    if _SAFE.fullmatch(text):
        return text
    return _OTHER.sub(lambda found: f"\\x{{{ord(found[0]):X}}}", text)


def member(character: str) -> str:
    """A character within brackets, for RE2."""
    if character.isascii() and character.isalnum():
        return character
    return f"\\x{{{ord(character):X}}}"


def escape(text: str, at: int) -> tuple[str, int]:
    """The character that the escape at a place means, and where the text goes on. Raises
    BadSyntax."""
    kind = text[at + 1 : at + 2]
    if not kind:
        raise BadSyntax("trailing backslash at end of expression", "")
    if kind == "x":
        return _hexadecimal(text, at)
    if kind in _CONTROLS:
        return _CONTROLS[kind], at + 2
    octal = _OCTAL.match(text, at)
    if octal is not None:
        return chr(int(octal[0][1:], 8)), octal.end()
    if kind.isascii() and not kind.isalnum():
        return kind, at + 2
    raise BadSyntax(_INVALID, text[at : at + 2])


def _hexadecimal(text: str, at: int) -> tuple[str, int]:
    if text[at + 2 : at + 3] == "{":
        return _braced(text, at)
    digits = text[at + 2 : at + 4]
    if len(digits) == 2 and digits[0] in _HEX and digits[1] in _HEX:
        return chr(int(digits, 16)), at + 4
    raise BadSyntax(_INVALID, text[at : at + 2 + len(digits)])


def _braced(text: str, at: int) -> tuple[str, int]:
    """`\\x{10FFFF}`."""
    value, end = 0, at + 3
    while end < len(text):
        character = text[end]
        end += 1
        if character == "}" and end > at + 4:
            return chr(value), end
        if character not in _HEX:
            break
        value = value * 16 + int(character, 16)
        if value > _LAST:
            break
    raise BadSyntax(_INVALID, text[at:end])
