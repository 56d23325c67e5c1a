"""Log messages of a move: upstream's messages at upstream's levels.

Level 0 is always shown, 1 names each object, 5 gives reasons.
"""

from __future__ import annotations

from typing import Any, Protocol


class Log(Protocol):
    """Receives a message with its level; the implementation decides what is shown."""

    def __call__(self, level: int, message: str, /, **values: Any) -> None:
        """Log a message. values: named values of the message."""
        ...


def no_log(level: int, message: str, /, **values: Any) -> None:
    """Drop a log message."""
