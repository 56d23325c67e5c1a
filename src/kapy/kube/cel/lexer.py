"""Tokens of the Common Expression Language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from kapy.kube.cel.errors import CompileError
from kapy.kube.cel.values import UInt
from kapy.kube.digits import parse_integer

RESERVED: Final = frozenset(
    (
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "namespace",
        "package",
        "return",
        "var",
        "void",
        "while",
    )
)
_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\n\f]+|//[^\n]*)
    |(?P<float>(?:\d+\.\d+|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
    |(?P<int>(?:0x[0-9a-fA-F]+|\d+)(?P<unsigned>[uU])?)
    |(?P<text>(?P<prefix>[rR][bB]?|[bB][rR]?)?(?P<quote>'''|\"\"\"|'|"))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<op>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(
    r"\\(?:([abfnrtv\\'\"`?])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))"
)
_PLAIN: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_MAX_INTEGER: Final = 2**63


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a CEL expression. kind: "literal", "name", "op" or "end". text: the source text of
    the token. value: the value of a literal.
    """

    kind: str
    text: str
    at: int
    value: Any = None


def tokens(source: str) -> list[Token]:
    """Return all tokens; the last one has the kind "end". Raises CompileError."""
    return [*_tokens(source), Token("end", "<EOF>", len(source))]


def _tokens(source: str) -> Iterator[Token]:
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            problem = f"Syntax error: token recognition error at: '{source[at]}'"
            raise CompileError(problem, source, at)
        end = match.end()
        if match["text"] is not None:
            end, value = _string(source, match)
            yield Token("literal", source[at:end], at, value)
        elif match["space"] is None:
            yield _token(source, match)
        at = end


def _token(source: str, match: re.Match[str]) -> Token:
    at, text = match.start(), match[0]
    if match["float"]:
        return Token("literal", text, at, float(text))
    if match["int"]:
        return Token("literal", text, at, _integer(source, match))
    return Token("name" if match["name"] else "op", text, at)


def _integer(source: str, match: re.Match[str]) -> int:
    digits = match["int"].rstrip("uU")
    number = int(digits, 16) if digits.startswith("0x") else parse_integer(digits)
    if match["unsigned"]:
        if number >= 2 * _MAX_INTEGER:
            raise CompileError("invalid uint literal", source, match.start())
        return UInt(number)
    if number > _MAX_INTEGER:  # one more than the largest integer is valid after a minus sign
        raise CompileError("invalid int literal", source, match.start())
    return number


def _string(source: str, match: re.Match[str]) -> tuple[int, str | bytes]:
    """Return the end position and the value of a string literal."""
    quote, prefix = match["quote"], (match["prefix"] or "").lower()
    at = start = match.end()
    while not source.startswith(quote, at):
        newline = at < len(source) and source[at] == "\n" and len(quote) == 1
        if at >= len(source) or newline:
            problem = f"Syntax error: token recognition error at: '{source[match.start() : at]}'"
            raise CompileError(problem, source, match.start())
        at += 2 if source[at] == "\\" and "r" not in prefix else 1
    body = source[start:at]
    if "r" in prefix:
        value: str | bytes = body.encode() if "b" in prefix else body
    elif "b" in prefix:
        value = _has_unescaped_bytes(body)
    else:
        if _bad_escape(body):
            raise CompileError("invalid string literal: unable to unescape", source, match.start())
        value = _ESCAPE.sub(_character, body)
    return at + len(quote), value


def _bad_escape(body: str) -> bool:
    return "\\" in _ESCAPE.sub("", body)


def _character(match: re.Match[str]) -> str:
    plain, octal = match[1], match[5]
    if plain:
        return _PLAIN.get(plain, plain)
    return chr(int(octal, 8) if octal else int(match[2] or match[3] or match[4], 16))


def _has_unescaped_bytes(body: str) -> bytes:
    result, last = b"", 0
    for match in _ESCAPE.finditer(body):
        result += body[last : match.start()].encode()
        raw = match[2] or match[5]
        value = _character(match)
        result += bytes([ord(value)]) if raw else value.encode()
        last = match.end()
    return result + body[last:].encode()
