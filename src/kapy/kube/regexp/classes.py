r"""Character classes in patterns: `[a-z\d[:alpha:]]`, `\p{Greek}`."""

from __future__ import annotations

from typing import Final

from kapy.kube.regexp.escapes import InvalidSyntax, escape, member
from kapy.kube.regexp.unicode_names import members

_RANGE: Final = "invalid character class range"
_POSIX: Final = frozenset(
    (
        *("alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph"),
        *("lower", "print", "punct", "space", "upper", "word", "xdigit"),
    )
)
_PERL: Final = "dDsSwW"
_TABLE: Final = 500
"""Instructions that a table of Unicode may take."""


class CharacterClasses:
    """Parses the character classes of one pattern.

    Each method returns the text for RE2, the maximum number of instructions, and the position after
    the class; it raises InvalidSyntax. folds: matching ignores case.
    """

    def __init__(self, pattern: str) -> None:
        self._text = pattern

    def unicode(self, at: int, *, folds: bool) -> tuple[str, int, int]:
        r"""Parse `\pN`, `\p{Greek}` or `\P{^Greek}` outside of brackets."""
        (written, inverted), end = self._parse_property(at, folds=folds)
        return f"[{'^' if inverted else ''}{written}]", _TABLE, end

    def _parse_property(self, at: int, *, folds: bool) -> tuple[tuple[str, bool], int]:
        text = self._text
        negated = text[at + 1] == "P"
        if text[at + 2 : at + 3] == "{":
            close = text.find("}", at)
            if close < 0:
                raise InvalidSyntax(_RANGE, text[at:])
            name, end = text[at + 3 : close], close + 1
        else:
            name, end = text[at + 2 : at + 3], at + 2 + len(text[at + 2 : at + 3])
        if name.startswith("^"):
            name, negated = name[1:], not negated
        results = members(name, negated=negated, folds=folds)
        if results is None:
            raise InvalidSyntax(_RANGE, text[at:end])
        return results, end

    def bracket(self, start: int, *, folds: bool) -> tuple[str, int, int]:
        """Parse a class in brackets."""
        text, at = self._text, start + 1
        out, size = ["["], 1
        if text.startswith("^", at):
            out.append("^")
            at, size = at + 1, 16
        first = True
        while first or not text.startswith("]", at):
            first = False
            written, cost, at = self._member(start, at, folds=folds)
            out.append(written)
            size += cost
        return "".join(out) + "]", size, at + 1

    def _member(self, start: int, at: int, *, folds: bool) -> tuple[str, int, int]:
        text = self._text
        if text.startswith("[:", at) and (end := text.find(":]", at + 2)) >= 0:
            return self._posix(at, end)
        kind = text[at + 1 : at + 2] if text.startswith("\\", at) else ""
        if kind and kind in "pP":
            (written, inverted), end = self._parse_property(at, folds=folds)
            if inverted:
                raise InvalidSyntax(
                    "this class is not supported within brackets (write it outside of them)",
                    text[at:end],
                )
            return written, _TABLE, end
        if kind and kind in _PERL:
            return f"\\{kind}", 12, at + 2
        return self._range(start, at)

    def _posix(self, at: int, end: int) -> tuple[str, int, int]:
        name = self._text[at + 2 : end]
        if name.removeprefix("^") not in _POSIX:
            raise InvalidSyntax(_RANGE, self._text[at : end + 2])
        return self._text[at : end + 2], 8, end + 2

    def _range(self, start: int, at: int) -> tuple[str, int, int]:
        text = self._text
        low, end = self._character(start, at)
        if not text.startswith("-", end) or text[end + 1 : end + 2] in ("", "]"):
            return member(low), 1 if low.isascii() else 4, end
        high, end = self._character(start, end + 1)
        if high < low:
            raise InvalidSyntax(_RANGE, text[at:end])
        return f"{member(low)}-{member(high)}", 1 if high.isascii() else 16, end

    def _character(self, start: int, at: int) -> tuple[str, int]:
        text = self._text
        if at >= len(text):
            raise InvalidSyntax("missing closing ]", text[start:])
        if text[at] == "\\":
            return escape(text, at)
        return text[at], at + 1
