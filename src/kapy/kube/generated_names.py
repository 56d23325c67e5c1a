"""Deterministic names that look generated (a prefix and five characters).

A controller derives an object's name from its purpose (the slot). A retry after a lost response
then uses the same name and never creates a second object.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""The characters of upstream's generated names: no vowels, no look-alikes."""

LENGTH: Final = 5
MAX_NAME_LENGTH: Final = 63


def suffix(*slot: object, length: int = LENGTH) -> str:
    """Return characters derived from what identifies the slot (owner UID, slot, attempt, …)."""
    text = "\0".join(map(str, slot))
    number = int.from_bytes(sha256(text.encode()).digest())
    characters = []
    for _ in range(length):
        number, index = divmod(number, len(ALPHABET))
        characters.append(ALPHABET[index])
    return "".join(characters)


def generated_name(prefix: str, *slot: object, max_length: int = MAX_NAME_LENGTH) -> str:
    """Return a name: `prefix`, cut if needed, which usually ends with a dash, and the suffix that
    belongs to the parts of `slot`.
    """
    return with_suffix(prefix, suffix(*slot), max_length=max_length)


def with_suffix(base: str, characters: str, *, max_length: int = MAX_NAME_LENGTH) -> str:
    """Return `base`, cut to leave room (in bytes, as Go counts), and the characters."""
    return base.encode()[: max_length - LENGTH].decode(errors="replace") + characters
