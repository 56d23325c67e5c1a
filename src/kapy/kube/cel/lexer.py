"""Tokens of the Common Expression Language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from kapy.kube.cel.errors import CompileError
from kapy.kube.cel.values import UInt
from kapy.kube.digits import whole

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
_LARGEST: Final = 2**63


@dataclass(frozen=True, slots=True)
class Token:
    """kind: "literal", "name", "op" or "end"; text: as written; value: of a literal."""

    kind: str
    text: str
    at: int
    value: Any = None


def tokens(source: str) -> list[Token]:
    """All tokens, the last one of kind "end". Raises CompileError."""
    return [*_tokens(source), Token("end", "<EOF>", len(source))]


def _tokens(source: str) -> Iterator[Token]:
    at = 0
    while at < len(source):
        found = _TOKEN.match(source, at)
        if found is None:
            problem = f"Syntax error: token recognition error at: '{source[at]}'"
            raise CompileError(problem, source, at)
        end = found.end()
        if found["text"] is not None:
            end, value = _string(source, found)
            yield Token("literal", source[at:end], at, value)
        elif found["space"] is None:
            yield _token(source, found)
        at = end


def _token(source: str, found: re.Match[str]) -> Token:
    at, text = found.start(), found[0]
    if found["float"]:
        return Token("literal", text, at, float(text))
    if found["int"]:
        return Token("literal", text, at, _integer(source, found))
    return Token("name" if found["name"] else "op", text, at)


def _integer(source: str, found: re.Match[str]) -> int:
    digits = found["int"].rstrip("uU")
    number = int(digits, 16) if digits.startswith("0x") else whole(digits)
    if found["unsigned"]:
        if number >= 2 * _LARGEST:
            raise CompileError("invalid uint literal", source, found.start())
        return UInt(number)
    if number > _LARGEST:  # the largest one itself is fine after a minus
        raise CompileError("invalid int literal", source, found.start())
    return number


def _string(source: str, found: re.Match[str]) -> tuple[int, str | bytes]:
    """Where a string literal ends, and what it says."""
    quote, prefix = found["quote"], (found["prefix"] or "").lower()
    at = start = found.end()
    while not source.startswith(quote, at):
        newline = at < len(source) and source[at] == "\n" and len(quote) == 1
        if at >= len(source) or newline:
            problem = f"Syntax error: token recognition error at: '{source[found.start() : at]}'"
            raise CompileError(problem, source, found.start())
        at += 2 if source[at] == "\\" and "r" not in prefix else 1
    body = source[start:at]
    if "r" in prefix:
        value: str | bytes = body.encode() if "b" in prefix else body
    elif "b" in prefix:
        value = _unescaped_bytes(body)
    else:
        if _bad_escape(body):
            raise CompileError("invalid string literal: unable to unescape", source, found.start())
        value = _ESCAPE.sub(_character, body)
    return at + len(quote), value


def _bad_escape(body: str) -> bool:
    return "\\" in _ESCAPE.sub("", body)


def _character(found: re.Match[str]) -> str:
    plain, octal = found[1], found[5]
    if plain:
        return _PLAIN.get(plain, plain)
    return chr(int(octal, 8) if octal else int(found[2] or found[3] or found[4], 16))


def _unescaped_bytes(body: str) -> bytes:
    result, last = b"", 0
    for found in _ESCAPE.finditer(body):
        result += body[last : found.start()].encode()
        raw = found[2] or found[5]
        one = _character(found)
        result += bytes([ord(one)]) if raw else one.encode()
        last = found.end()
    return result + body[last:].encode()
