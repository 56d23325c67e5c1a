"""Quoted strings in Go's format."""

from __future__ import annotations

from typing import Final

_ESCAPES: Final = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}


def go_quoted(text: str) -> str:
    """Return a string as Go's `%q` prints it."""
    out = []
    for character in text:
        code = ord(character)
        if character in '"\\':
            out.append(f"\\{character}")
        elif code in _ESCAPES:
            out.append(_ESCAPES[code])
        elif character.isprintable():
            out.append(character)
        else:
            out.append(f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")
    return f'"{"".join(out)}"'
