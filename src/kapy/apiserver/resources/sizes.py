"""Size limits of objects."""

from __future__ import annotations

from typing import Any, Final

from kapy.kube import Document
from kapy.kube.errors import TooLarge

MOST_STORED: Final = 1536 * 1024
"""The most bytes of JSON of a stored object, like etcd's request limit (which gives a plain
500).
"""

MOST_SHOWN: Final = 4 * MOST_STORED
"""The most bytes of JSON in the response to a dry run."""


def check_size(document: Document, *, dry_run: bool) -> None:
    """Check that an object is not too large to be stored or returned. Raises TooLarge."""
    most = MOST_SHOWN if dry_run else MOST_STORED
    if is_longer(document, most):
        raise TooLarge(
            f"Request entity too large: the object would have more than {most} bytes of JSON"
        )


def is_longer(document: Any, most: int) -> bool:
    """Report whether a document has about `most` bytes of JSON or more.

    The walk stops as soon as the answer is known.
    """
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
