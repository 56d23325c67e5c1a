"""Single characters of a pattern: parsing their escapes, and writing them for RE2."""

from __future__ import annotations

import re
from typing import Final

# Sets without characters above ASCII: compiling a range of all of Unicode takes milliseconds.
_SPECIAL: Final = r"\x00-\x1f!-$'-+\-.<>?\[-^`{-}\x7f"
_SAFE: Final = re.compile(f"[^{_SPECIAL}]+")
_OTHER: Final = re.compile(f"[{_SPECIAL}]")
_CONTROLS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_OCTAL: Final = re.compile(r"\\(?:[1-7](?=[0-7])|0)[0-7]{0,2}")
_HEX: Final = "0123456789abcdefABCDEF"
_INVALID: Final = "invalid escape sequence"
_LAST: Final = 0x10FFFF


class InvalidSyntax(Exception):
    """A syntax error in a pattern, with the invalid part."""

    def __init__(self, problem: str, part: str) -> None:
        super().__init__(problem, part)
        self.problem = problem
        self.where = part


def literal(text: str) -> str:
    """Return literal text escaped for RE2."""
    if _SAFE.fullmatch(text):
        return text
    return _OTHER.sub(lambda match: f"\\x{{{ord(match[0]):X}}}", text)


def member(character: str) -> str:
    """Return a character escaped for a bracket of RE2."""
    if character.isascii() and character.isalnum():
        return character
    return f"\\x{{{ord(character):X}}}"


def escape(text: str, at: int) -> tuple[str, int]:
    """Parse the escape at a position; returns its character and the position after it. Raises
    InvalidSyntax.
    """
    kind = text[at + 1 : at + 2]
    if not kind:
        raise InvalidSyntax("trailing backslash at end of expression", "")
    if kind == "x":
        return _hexadecimal(text, at)
    if kind in _CONTROLS:
        return _CONTROLS[kind], at + 2
    octal = _OCTAL.match(text, at)
    if octal is not None:
        return chr(int(octal[0][1:], 8)), octal.end()
    if kind.isascii() and not kind.isalnum():
        return kind, at + 2
    raise InvalidSyntax(_INVALID, text[at : at + 2])


def _hexadecimal(text: str, at: int) -> tuple[str, int]:
    if text[at + 2 : at + 3] == "{":
        return _braced_hexadecimal(text, at)
    digits = text[at + 2 : at + 4]
    if len(digits) == 2 and digits[0] in _HEX and digits[1] in _HEX:
        return chr(int(digits, 16)), at + 4
    raise InvalidSyntax(_INVALID, text[at : at + 2 + len(digits)])


def _braced_hexadecimal(text: str, at: int) -> tuple[str, int]:
    r"""Parse a hexadecimal escape in braces: `\x{10FFFF}`."""
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
    raise InvalidSyntax(_INVALID, text[at:end])
