"""The operators of `${…}` expressions.

Lengths and offsets count bytes of UTF-8, and globs match bytes, as in Go. Globs have the rules of
Go's `path.Match`, except that `*` also matches `/`: `*` any bytes, `?` one character, `[a-z]` and
`[^a-z]` one of a class, a backslash escapes the next one. A malformed glob is only detected when
matching reaches the error: an earlier mismatch just fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from kapy.clusterctl.envsubst.parser import BadSubstitution
from kapy.kube.digits import parse_integer

_Operation: TypeAlias = Callable[..., str]
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_LARGEST: Final = 2**63

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NONE: Final = 0xFFFD
"""The code point that Go returns for bytes that are not a character."""


def apply_operator(operator: str, value: str, arguments: list[str]) -> str:
    """Return the result of an operator (except defaults) for a value and arguments.

    Raises BadSubstitution for a length below zero.
    """
    if operator == "#" and not arguments:
        return str(len(_bytes(value)))
    operation = _OPERATIONS.get(operator)
    return operation(value, *arguments) if operation else value or "".join(arguments)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _string(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _part(value: str, offset: str, length: str | None = None) -> str:
    content, start = _bytes(value), _integer(offset)
    if start is None:
        return value
    if start < 0:
        start = max(0, start + len(content))
    if length is None:
        return _string(content[start:])
    count = _integer(length)
    if count is None:
        return value
    if start + count >= len(content):
        return _string(content[start:])
    if count < 0:
        raise BadSubstitution(
            f"a length of {count} in ${{…:{offset}:{length}}}; a length counts from 0"
        )
    return _string(content[start : start + count])


def _integer(text: str) -> int | None:
    """Return a decimal 64-bit number; None for any other text."""
    number = parse_integer(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and -_LARGEST <= number < _LARGEST else None


def _upper(text: str) -> str:
    return "".join(map(_one_upper, text))


def _one_upper(letter: str) -> str:
    # Go maps a letter to one letter, where Unicode's full mapping has several (ß, ŉ, ᾳ).
    return next((item for item in (letter.upper(), letter.title()) if len(item) == 1), letter)


def _lower(text: str) -> str:
    return "".join(letter.lower()[0] for letter in text)


def _replace(value: str, pattern: str, text: str = "", *, count: int) -> str:
    return value.replace(pattern, text, count)


def _leading(value: str, pattern: str, text: str | None = None) -> str:
    if text is None or not value.startswith(pattern):
        return value
    return text + value[len(pattern) :]


def _trailing(value: str, pattern: str, text: str | None = None) -> str:
    if text is None or not value.endswith(pattern):
        return value
    return value[: len(value) - len(pattern)] + text


def _without_beginning(value: str, glob: str, *, greedy: bool) -> str:
    """Return the value without the prefix that a glob matches; unchanged without a match or for a
    bad glob.
    """
    content, pattern = _bytes(value), _bytes(glob)
    try:
        lengths = list(_match_lengths(content, pattern, greedy=greedy))
    except BadPattern:
        return value
    return _string(content[lengths[-1] :]) if lengths else value


def _match_lengths(content: bytes, pattern: bytes, *, greedy: bool) -> Iterator[int]:
    for length in range(len(content), 0, -1):
        if _matches(pattern, content[:length]):
            yield length
            if greedy:
                return


def _without_end(value: str, glob: str, *, greedy: bool) -> str:
    return _reverse(_without_beginning(_reverse(value), _reverse(glob), greedy=greedy))


def _reverse(text: str) -> str:
    # Reverse characters, not bytes; invalid ones become U+FFFD, as in Go.
    return _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)[::-1]


_OPERATIONS: Final[Mapping[str, _Operation]] = {
    ",": lambda value: _lower(value[:1]) + value[1:],
    ",,": _lower,
    "^": lambda value: _upper(value[:1]) + value[1:],
    "^^": _upper,
    "#": lambda value, glob: _without_beginning(value, glob, greedy=False),
    "##": lambda value, glob: _without_beginning(value, glob, greedy=True),
    "%": lambda value, glob: _without_end(value, glob, greedy=False),
    "%%": lambda value, glob: _without_end(value, glob, greedy=True),
    ":": _part,
    "/": lambda value, *how: _replace(value, *how, count=1),
    "//": lambda value, *how: _replace(value, *how, count=-1),
    "/#": _leading,
    "/%": _trailing,
}
"""The function of each operator; other operators yield the value or its default."""


class BadPattern(Exception):
    """The glob is malformed."""


def _matches(pattern: bytes, name: bytes) -> bool:
    """Return whether a glob matches a whole name. Raises BadPattern."""
    while pattern:
        star = pattern.startswith(b"*")
        chunk, pattern = _split(pattern.lstrip(b"*"))
        if star and not chunk:
            return True
        rest = _rest(chunk, name, star=star, last=not pattern)
        if rest is None:
            return False
        name = rest
    return not name


def _rest(chunk: bytes, name: bytes, *, star: bool, last: bool) -> bytes | None:
    """Return the rest of a name after a chunk that matches at its start (after a star: anywhere).

    The last chunk must reach the end; None if it matches nowhere.
    """
    for start in range(len(name) + 1 if star else 1):
        rest = _after(chunk, name[start:])
        if rest is not None and not (last and rest):
            return rest
    return None


def _split(pattern: bytes) -> tuple[bytes, bytes]:
    """Split a pattern before its next star."""
    inside, at = False, 0
    while at < len(pattern):
        sign = pattern[at : at + 1]
        if sign == b"\\":
            at += 1
        elif sign in (b"[", b"]"):
            inside = sign == b"["
        elif sign == b"*" and not inside:
            break
        at += 1
    return pattern[:at], pattern[at:]


def _after(chunk: bytes, name: bytes) -> bytes | None:
    """Return the rest of a name after a chunk without stars; None if the chunk does not match."""
    while chunk:
        if not name:
            return None
        sign, size = chunk[:1], 1
        if sign == b"[":
            size = _size(name)
            within, chunk = _class(chunk[1:], _letter(name))
            if not within:
                return None
        elif sign == b"?":
            size, chunk = _size(name), chunk[1:]
        else:
            chunk = _unescape(chunk)
            if chunk[0] != name[0]:
                return None
            chunk = chunk[1:]
        name = name[size:]
    return name


def _class(chunk: bytes, letter: int) -> tuple[bool, bytes]:
    """Return whether a character is in the class at the start of a chunk, and the rest of the
    chunk.
    """
    negated = chunk.startswith(b"^")
    chunk = chunk[1:] if negated else chunk
    result, ranges = False, 0
    while not (ranges and chunk.startswith(b"]")):
        low, chunk = _range_bound(chunk)
        high = low
        if chunk.startswith(b"-"):
            high, chunk = _range_bound(chunk[1:])
        result = result or low <= letter <= high
        ranges += 1
    return result != negated, chunk[1:]


def _range_bound(chunk: bytes) -> tuple[int, bytes]:
    """Return one bound of a range, and the non-empty rest."""
    if not chunk or chunk[:1] in (b"-", b"]"):
        raise BadPattern
    chunk = _unescape(chunk)
    letter, size = _letter(chunk), _size(chunk)
    if len(chunk) == size or (letter == _NONE and size == 1):
        raise BadPattern
    return letter, chunk[size:]


def _unescape(chunk: bytes) -> bytes:
    if not chunk.startswith(b"\\"):
        return chunk
    if len(chunk) == 1:
        raise BadPattern
    return chunk[1:]


def _size(text: bytes) -> int:
    """Return the number of bytes of the first character; 1 if it is invalid."""
    for size in range(1, 5):
        try:
            text[:size].decode()
        except UnicodeDecodeError:
            continue
        return size
    return 1


def _letter(text: bytes) -> int:
    """Return the code point of the first character."""
    try:
        return ord(text[: _size(text)].decode())
    except UnicodeDecodeError:
        return _NONE
