"""Names that look generated (a prefix and five characters) but that a retry computes again.

Whoever creates an object for a slot derives its name from what the slot is: a lost response then
leads to the same name again, never to a second object.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""The characters of upstream's generated names: no vowels, no look-alikes."""

LENGTH: Final = 5
LONGEST_NAME: Final = 63


def suffix(*slot: object, length: int = LENGTH) -> str:
    """Characters derived from what identifies the slot (owner UID, slot, attempt, …)."""
    text = "\0".join(map(str, slot))
    number = int.from_bytes(sha256(text.encode()).digest())
    characters = []
    for _ in range(length):
        number, index = divmod(number, len(ALPHABET))
        characters.append(ALPHABET[index])
    return "".join(characters)


def generated_name(prefix: str, *slot: object, longest: int = LONGEST_NAME) -> str:
    """`prefix` (which usually ends with a dash; cut if need be) and the slot's suffix."""
    return ending(prefix, suffix(*slot), longest=longest)


def ending(base: str, characters: str, *, longest: int = LONGEST_NAME) -> str:
    """`base`, cut to leave room (in bytes, as Go counts), and the characters."""
    return base.encode()[: longest - LENGTH].decode(errors="replace") + characters
