"""Label values for names that are too long to be one."""

from __future__ import annotations

from base64 import urlsafe_b64encode

from kapy.kube.qualified_names import label_value_errors


def label_value(text: str) -> str:
    """The text itself where it is a valid label value, else a hash of it (FNV-1a, as upstream)."""
    if not label_value_errors(text):
        return text
    digest = 0x811C9DC5
    for byte in text.encode():
        digest = ((digest ^ byte) * 0x01000193) & 0xFFFFFFFF
    encoded = urlsafe_b64encode(digest.to_bytes(4)).decode().rstrip("=")
    return f"hash_{encoded}_z"
