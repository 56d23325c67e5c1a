r"""Shell globs over bytes with the rules of Go's `path.Match`, except that `*` also matches `/`.

`*` any bytes, `?` one character, `[a-z]` and `[^a-z]` one of a class, `\` escapes the next one. A
malformed glob is only detected when matching reaches the error: an earlier mismatch just fails.
"""

from __future__ import annotations


class BadPattern(Exception):
    """The glob is malformed."""


def matches(pattern: bytes, name: bytes) -> bool:
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


_NONE = 0xFFFD
"""The code point that Go returns for bytes that are not a character."""


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
