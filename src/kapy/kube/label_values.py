"""Names as label values: unchanged, or hashed if they are not valid label values."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Final

from kapy.kube.qualified_names import label_value_errors

_FNV_OFFSET: Final = 0x811C9DC5
_FNV_PRIME: Final = 0x01000193


def label_value(name: str) -> str:
    """Return the name, or `hash_…_z` (FNV-1a, upstream's form) if it is not a valid label value."""
    if not label_value_errors(name):
        return name
    number = _FNV_OFFSET
    for byte in name.encode():
        number = (number ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    text = urlsafe_b64encode(number.to_bytes(4, "big")).decode().rstrip("=")
    return f"hash_{text}_z"
