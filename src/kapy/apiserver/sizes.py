"""How large an object may become, whatever it is made of."""

from __future__ import annotations

from typing import Any, Final

from kapy.kube import Document
from kapy.kube.errors import TooLarge

MOST_STORED: Final = 1536 * 1024
"""Bytes of JSON of a stored object, as etcd bounds a request (where the answer is a plain 500)."""

MOST_SHOWN: Final = 4 * MOST_STORED
"""Bytes of JSON of what a dry run answers."""


def check_size(document: Document, *, dry_run: bool) -> None:
    """Refuse an object that is too large to be stored, or to be shown. Raises TooLarge."""
    most = MOST_SHOWN if dry_run else MOST_STORED
    if is_longer(document, most):
        raise TooLarge(
            f"Request entity too large: the object would have more than {most} bytes of JSON"
        )


def is_longer(document: Any, most: int) -> bool:
    """Whether a document has more than `most` bytes of JSON, or nearly so many; it is not looked
    at for longer than it takes to find out."""
    room, todo = most, [document]
    while todo and room >= 0:
        node = todo.pop()
        if isinstance(node, dict):
            room -= 2 + len(node) * 4 + sum(map(len, node))
            todo.extend(node.values())
        elif isinstance(node, list):
            room -= 2 + len(node)
            todo.extend(node)
        else:
            room -= len(node) if isinstance(node, str) else 1
    return room < 0
