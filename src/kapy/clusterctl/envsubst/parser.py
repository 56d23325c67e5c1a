"""Parses text with variables.

The syntax of each function is one entry in the table of operators. Operators of bash that are
missing there are missing in envsubst, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from kapy.clusterctl.errors import ClusterctlError


class BadSubstitution(ClusterctlError):
    """A `${…}` expression is invalid; the message names the line."""


# Tuples instead of dataclasses, whose import takes longer than parsing most templates.
class Function(NamedTuple):
    """`${parameter operator arguments}`; without an operator, the parameter's value."""

    parameter: str
    operator: str = ""
    arguments: tuple[Node, ...] = ()


Node: TypeAlias = "str | Function"


def parse(text: str) -> list[Node]:
    """Text and functions in order. Raises BadSubstitution.

    A NUL character ends the text, as it does for upstream's scanner.
    """
    parser = _Parser(text)
    try:
        return list(parser.nodes())
    except RecursionError:
        raise parser.error("variables are nested too deeply") from None


_ESCAPED: Final = r"[$\\]((?<=\$)\$|(?<=\\)[/\\])"
_IN_TEXT: Final = re.compile(r"\$(?:\{|(\$))|\0")
_TO_BRACE: Final = re.compile(r"\$\{|[}\0]")
_TO_COLON: Final = re.compile(r"\$\{|[:}\0]")
_TO_SLASH: Final = re.compile(rf"\$\{{|{_ESCAPED}|[/\0]")
_REPLACEMENT: Final = re.compile(rf"\$\{{|{_ESCAPED}|[}}\0]")
"""The characters that end a piece of text. An escape does not end it; the group captures the
escaped character. Each alternative begins with a character of its own, so that plain text in large
files is skipped fast."""


class _Parser:
    def __init__(self, text: str) -> None:
        self._source = text
        self._at = 0
        self._began = 0

    def nodes(self) -> Iterator[Node]:
        """Parse to the end of the text."""
        while self._peek():
            if self._accept("${"):
                self._began = self._at - 2
                yield self._function()
            else:
                yield self._run(_IN_TEXT)

    def error(self, problem: str) -> BadSubstitution:
        """Return the error for the variable that is being parsed, with its line."""
        line = self._source.count("\n", 0, self._began) + 1
        result = self._source[self._began :].split("\n", 1)[0][:60]
        return BadSubstitution(f"{problem}: line {line}, at {result}")

    def _peek(self) -> str:
        """Return the next character; empty at the end."""
        return self._source[self._at : self._at + 1].strip("\0")

    def _accept(self, token: str) -> bool:
        """Skip a token if it is next; whether it was."""
        if not self._source.startswith(token, self._at):
            return False
        self._at += len(token)
        return True

    def _token(self, pattern: re.Pattern[str]) -> str:
        """Consume the match of a pattern; "" without a match."""
        match = pattern.match(self._source, self._at)
        self._at += len(match[0]) if match else 0
        return match[0] if match else ""

    def _run(self, end: re.Pattern[str]) -> str:
        """Consume the text up to its terminator."""
        pieces: list[str] = []
        while True:
            match = end.search(self._source, self._at)
            stop = match.start() if match else len(self._source)
            pieces.append(self._source[self._at : stop])
            self._at = stop
            if not (match and end.groups and match[1]):
                return "".join(pieces)
            pieces.append(match[1])
            self._at += 2

    def _function(self) -> Function:
        """Return a function after its `${`, up to and including its brace."""
        if self._accept("#"):
            return self._close(Function(self._name(), "#"))
        name = self._name()
        for operator, arguments in _OPERATORS.items():
            if sign := self._token(operator):
                return self._close(Function(name, sign, tuple(arguments(self))))
        return self._close(Function(name))

    def _name(self) -> str:
        start = self._at
        while (sign := self._peek()) and (sign == "_" or sign.isalpha() or sign.isdecimal()):
            self._at += 1
        if start == self._at:
            raise self.error("unable to parse variable name")
        return self._source[start : self._at]

    def _close(self, function: Function) -> Function:
        if not self._accept("}"):
            raise self.error("missing closing brace")
        return function

    def _argument(self, end: re.Pattern[str]) -> Node:
        """Return a variable, or non-empty text."""
        if self._accept("${"):
            return self._function()
        text = self._run(end)
        if not text:
            raise self.error("unable to parse substitution within function")
        return text

    def default(self) -> Iterator[Node]:
        """Text and variables up to the brace."""
        while self._peek() != "}":
            yield self._argument(_TO_BRACE)

    def part(self) -> Iterator[Node]:
        """An offset, and optionally a length after one or more colons."""
        yield self._argument(_TO_COLON)
        if self._accept(":"):
            while self._accept(":"):
                pass
            yield self._argument(_TO_BRACE)

    def glob(self) -> Iterator[Node]:
        """One argument up to the brace."""
        yield self._argument(_TO_BRACE)

    def replacement(self) -> Iterator[Node]:
        """The pattern and its replacement."""
        yield self._argument(_TO_SLASH)
        if not self._accept("/"):
            raise self.error("bad substitution")
        while self._accept("/"):
            pass
        if self._peek() != "}":
            yield self._argument(_REPLACEMENT)


_Syntax: TypeAlias = Callable[[_Parser], Iterator[Node]]
_OPERATORS: Final[Mapping[re.Pattern[str], _Syntax]] = {
    re.compile(r":[=?+-]|="): _Parser.default,
    re.compile(r":"): _Parser.part,
    re.compile(r"[,^]{1,2}"): lambda _: iter(()),
    re.compile(r"#{1,2}|%{1,2}"): _Parser.glob,
    re.compile(r"/[/#%]?"): _Parser.replacement,
}
"""The operators that may follow a name, and how their arguments are parsed."""
