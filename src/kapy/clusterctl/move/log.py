"""What a move says while it works: upstream's messages at upstream's levels.

0 is always shown, 1 names each object, 5 tells why.
"""

from __future__ import annotations

from typing import Any, Protocol


class Log(Protocol):
    """Takes a message; how much of it is shown is for others to decide."""

    def __call__(self, level: int, message: str, /, **values: Any) -> None:
        """values: what the message is about, each with its name."""
        ...


def silent(level: int, message: str, /, **values: Any) -> None:
    """Nobody listens."""
