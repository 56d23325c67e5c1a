"""Reads a pattern as Go's `regexp/syntax` does and writes it for RE2.

Go and RE2 agree on what a pattern means, but not on which patterns there are: RE2 has some that Go
refuses (`\\C`) and the other way round (`\\p{Letter}`), and says differently what is wrong. The
pattern written for RE2 has only forms on which they agree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NoReturn

from kapy.kube.errors import KapyError
from kapy.kube.regexp.classes import CharacterClasses, InvalidSyntax, escape, literal

MAX_LENGTH: Final = 1 << 16
"""Characters that a pattern may have."""

_MAX_INSTRUCTIONS: Final = 3_000_000
_MAX_REPEATS: Final = 1000
_MAX_DEPTH: Final = 1000
_MAX_SHOWN: Final = 200

_PLAIN: Final = re.compile(r"[^\\.+*?()|\[\]{}^$]+")
_COUNT: Final = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ANCHORS: Final = "AbBz"
_PERL: Final = "dDsSwW"


class BadPattern(KapyError, ValueError):
    """The text is not a valid regular expression; the message is Go's."""


@dataclass(frozen=True, slots=True)
class Syntax:
    r"""A parsed pattern. re2: the equivalent pattern for RE2. names: the names of all groups, ""
    for unnamed ones. size: an upper estimate of RE2's instructions. looks_inside: it contains
    `\\B`.
    """

    re2: str
    names: tuple[str, ...]
    size: int
    looks_inside: bool = False


@dataclass(slots=True)
class _Piece:
    """A part of an expression. repeats: the product of its nested repetition counts. start, end:
    the range of the piece in the output; end is only set when it is repeated.
    """

    size: int = 1
    repeats: int = 1
    height: int = 1
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class _Group:
    """The state of the parser between two parentheses. folds: whether matching ignores case from
    here on. last: the piece to which a repetition would apply. start: the position of the group in
    the output.
    """

    start: int = 0
    folds: bool = False
    captures: bool = False
    size: int = 0
    repeats: int = 1
    height: int = 1
    pieces: int = 0
    max_pieces: int = 0
    branches: int = 1
    last: _Piece | None = field(default=None)

    def add(self, piece: _Piece) -> None:
        self.settle()
        self.pieces += 1
        self.last = piece

    def settle(self) -> None:
        """Finish the last piece: it can no longer be repeated."""
        if self.last is not None:
            self.size += self.last.size
            self.repeats = max(self.repeats, self.last.repeats)
            self.height = max(self.height, self.last.height)
            self.last = None

    def branch(self) -> None:
        self.settle()
        self.branches += 1
        self.max_pieces = max(self.max_pieces, self.pieces)
        self.pieces = 0

    def as_piece(self) -> _Piece:
        """Return the whole group as one piece of the group around it."""
        self.settle()
        above = (max(self.max_pieces, self.pieces) > 1) + (self.branches > 1) + self.captures
        size = self.size + self.branches - 1 + 2 * self.captures
        return _Piece(max(1, size), self.repeats, self.height + above, self.start)


def normal(text: str) -> str:
    """Return the text without surrogates, which Go's strings never contain."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def read(pattern: str) -> Syntax:
    """Parse a pattern of Go's syntax. Raises BadPattern."""
    pattern = normal(pattern)
    if len(pattern) > MAX_LENGTH:
        raise _pattern_error("expression too large", f"{pattern[:_MAX_SHOWN]}...")
    try:
        return _Reader(pattern).read()
    except InvalidSyntax as error:
        raise _pattern_error(error.problem, error.where) from None


def _pattern_error(problem: str, part: str) -> BadPattern:
    return BadPattern(f"error parsing regexp: {problem}: `{part}`")


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._out: list[str] = []
        self._names: list[str] = []
        self._stack = [_Group()]
        self._repeated_at = -1
        self._looks_inside = False
        self._classes = CharacterClasses(pattern)

    def read(self) -> Syntax:
        text = self._text
        while self._at < len(text):
            repeated_at = self._repeated_at
            self._repeated_at = -1
            run = _PLAIN.match(text, self._at)
            if run is not None:
                self._literals(run[0])
                self._at = run.end()
            else:
                self._special(text[self._at], repeated_at)
        if len(self._stack) > 1:
            raise InvalidSyntax("missing closing )", text)
        whole = self._close_group(self._stack[0])
        return Syntax("".join(self._out), ("", *self._names), whole.size, self._looks_inside)

    def _close_group(self, group: _Group) -> _Piece:
        piece = group.as_piece()
        self._check_bound(piece)
        return piece

    def _check_bound(self, piece: _Piece) -> None:
        if piece.size > _MAX_INSTRUCTIONS:
            raise InvalidSyntax("expression too large", self._text)
        if piece.height > _MAX_DEPTH:
            raise InvalidSyntax("expression nests too deeply", self._text)

    @property
    def _group(self) -> _Group:
        return self._stack[-1]

    def _literals(self, text: str) -> None:
        for part in (text[:-1], text[-1]):
            if part:
                self._group.add(_Piece(2 * len(part.encode()), start=len(self._out)))
                self._out.append(literal(part))

    def _piece(self, text: str, size: int, end: int) -> None:
        self._group.add(_Piece(size, start=len(self._out)))
        self._out.append(text)
        self._at = end

    def _special(self, character: str, repeated_at: int) -> None:
        match character:
            case "(":
                self._open()
            case ")":
                self._close()
            case "|":
                self._group.branch()
                self._out.append("|")
                self._at += 1
            case "^" | "$":
                self._piece(character, 1, self._at + 1)
            case ".":
                self._piece(".", 12, self._at + 1)
            case "[":
                self._piece(*self._classes.bracket(self._at, folds=self._group.folds))
            case "\\":
                self._escape()
            case "*" | "+" | "?":
                self._repeat(self._at + 1, None, repeated_at)
            case "{":
                self._count(repeated_at)
            case _:
                self._literals(character)
                self._at += 1

    def _open(self) -> None:
        if len(self._stack) > _MAX_DEPTH:
            raise InvalidSyntax("expression nests too deeply", self._text)
        if self._text.startswith("(?", self._at):
            self._perl_group()
            return
        self._capture("", self._at + 1)

    def _capture(self, name: str, end: int) -> None:
        self._names.append(name)
        self._stack.append(_Group(len(self._out), self._group.folds, captures=True))
        self._out.append("(")
        self._at = end

    def _perl_group(self) -> None:
        text, at = self._text, self._at
        rest = len(text) - at
        start = 4 if text.startswith("P<", at + 2) and rest > 4 else 0
        start = 3 if text.startswith("<", at + 2) and rest > 3 else start
        if not start:
            self._flags()
            return
        end = text.find(">", at)
        if end < 0:
            raise InvalidSyntax("invalid named capture", text[at:])
        name = text[at + start : end]
        if not name or not (name.isascii() and name.replace("_", "a").isalnum()):
            raise InvalidSyntax("invalid named capture", text[at : end + 1])
        self._capture(name, end + 1)

    def _flags(self) -> None:
        """Parse the flags of a group: `(?i)`, `(?s-m:`."""
        text, at = self._text, self._at + 2
        negative, has_flag = False, True
        while at < len(text):
            character = text[at]
            at += 1
            if character in "imsU":
                has_flag = True
            elif character == "-" and not negative:
                negative, has_flag = True, False
            elif character in ":)" and has_flag:
                self._flags_read(text[self._at + 2 : at - 1], character, at)
                return
            else:
                break
        raise InvalidSyntax("invalid or unsupported Perl syntax", text[self._at : at])

    def _flags_read(self, flags: str, end: str, at: int) -> None:
        on, _, off = flags.partition("-")
        folds = ("i" in on or self._group.folds) and "i" not in off
        if end == ":":
            self._stack.append(_Group(len(self._out), folds))
            self._out.append(f"(?{flags}:")
        elif flags:
            self._group.folds = folds
            self._out.append(f"(?{flags})")
        self._at = at

    def _close(self) -> None:
        if len(self._stack) == 1:
            raise InvalidSyntax("unexpected )", self._text)
        piece = self._close_group(self._stack.pop())
        self._group.add(piece)
        self._out.append(")")
        self._at += 1

    def _escape(self) -> None:
        text, at = self._text, self._at
        kind = text[at + 1 : at + 2]
        if kind and kind in _ANCHORS:
            self._looks_inside |= kind == "B"
            self._piece(f"\\{kind}", 1, at + 2)
        elif kind and kind in _PERL:
            self._piece(f"\\{kind}", 12, at + 2)
        elif kind == "C":
            raise InvalidSyntax("invalid escape sequence", "\\C")
        elif kind == "Q":
            end = text.find("\\E", at + 2)
            quoted = text[at + 2 :] if end < 0 else text[at + 2 : end]
            if quoted:
                self._literals(quoted)
            self._at = len(text) if end < 0 else end + 2
        elif kind and kind in "pP":
            self._piece(*self._classes.unicode(at, folds=self._group.folds))
        else:
            character, self._at = escape(text, at)
            self._literals(character)

    def _count(self, repeated_at: int) -> None:
        """Parse a repetition `{2,5}`, or a literal brace."""
        match = _COUNT.match(self._text, self._at)
        if match is None:
            self._literals("{")
            self._at += 1
            return
        least, limit = _number(match[1]), _number(match[3] or "")
        if match[2] is None:
            limit = least
        if least > _MAX_REPEATS or limit > _MAX_REPEATS or 0 <= limit < least:
            raise InvalidSyntax("invalid repeat count", match[0])
        self._repeat(match.end(), (least, limit), repeated_at)

    def _repeat(self, end: int, counts: tuple[int, int] | None, repeated_at: int) -> None:
        text, start = self._text, self._at
        if text.startswith("?", end):
            end += 1
        if repeated_at >= 0:
            raise InvalidSyntax("invalid nested repetition operator", text[repeated_at:end])
        piece = self._group.last
        if piece is None:
            raise InvalidSyntax("missing argument to repetition operator", text[start:end])
        if not self._multiply(piece, counts):
            raise InvalidSyntax("invalid repeat count", text[start:end])
        piece.height += 1
        self._check_bound(piece)
        if piece.end:  # a second repetition with flags in between, which RE2 must not read as `**`
            flags = [item for item in self._out[piece.start : piece.end] if _is_flags(item)]
            self._out[piece.start] = f"(?:{self._out[piece.start]}"
            self._out[piece.end - 1] += f"){''.join(flags)}"
        self._out.append(text[start:end])
        piece.end = len(self._out)
        self._repeated_at, self._at = start, end

    def _multiply(self, piece: _Piece, counts: tuple[int, int] | None) -> bool:
        """Multiply nested repetitions; returns whether they are within the limit."""
        least, limit = counts or (0, -1)
        piece.size = 2 + piece.size * max(1, least, limit) + max(0, limit - least)
        if counts is None:
            return True
        if limit == 0:
            piece.repeats = 1
            return True
        piece.repeats *= max(1, limit if limit > 0 else least)
        return piece.repeats <= _MAX_REPEATS or max(least, limit) < 2


def _number(digits: str) -> int:
    """Return the number, -1 if there are no digits; a number above the limit stays above it."""
    if not digits:
        return -1
    return int(digits) if len(digits) < 9 else _MAX_REPEATS + 1


def _is_flags(text: str) -> bool:
    return text.startswith("(?") and text.endswith(")")


def fail(problem: str, part: str) -> NoReturn:
    """Raise BadPattern with Go's message. part: the invalid part of the pattern."""
    raise _pattern_error(problem, part)
