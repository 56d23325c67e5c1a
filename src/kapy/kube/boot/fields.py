"""Fields of entries of boot data, read with their types."""

from __future__ import annotations

from kapy.kube import Document
from kapy.kube.boot.steps import BadBootData


def text_field(parent: Document, field: str, entry: str) -> str:
    """The string in a field, "" where it is absent. Raises BadBootData.

    entry: where the parent stands in the boot data, for the message.
    """
    value = parent.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadBootData(f"{entry}: {field} must be a string")
    return value


def flag_field(parent: Document, field: str, entry: str) -> bool:
    """The boolean in a field, False where it is absent. Raises BadBootData."""
    value = parent.get(field)
    if value is not None and not isinstance(value, bool):
        raise BadBootData(f"{entry}: {field} must be true or false")
    return bool(value)
