"""Reads typed fields of entries in boot data."""

from __future__ import annotations

from kapy.kube import Document
from kapy.kube.boot.steps import BadBootData


def text_field(parent: Document, field: str, entry: str) -> str:
    """Return a string field, "" if it is absent. Raises BadBootData. entry: the location of the
    parent in the boot data, for errors.
    """
    value = parent.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadBootData(f"{entry}: {field} must be a string")
    return value


def flag_field(parent: Document, field: str, entry: str) -> bool:
    """Return a boolean field, False if it is absent. Raises BadBootData."""
    value = parent.get(field)
    if value is not None and not isinstance(value, bool):
        raise BadBootData(f"{entry}: {field} must be true or false")
    return bool(value)
