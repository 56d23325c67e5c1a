"""Wording that messages of several kinds share, and lists of names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

LOOK_AT_LOGS: Final = "Please check controller logs for errors"
"""The message of a condition for an internal error, which the next attempt may resolve."""


def shorten(names: Iterable[str], most: int) -> str:
    """Return the first `most` names, and the number of the others."""
    listed = list(names)
    more = len(listed) - most
    if more > 0:
        listed[most:] = [f"... ({more} more)"]
    return ", ".join(listed)


def machines_are(names: Iterable[str], rest: str) -> str:
    """Return "Machine a is …" or "Machines a, b are …" with up to three sorted names; ""
    for none.
    """
    listed = sorted(names)
    if not listed:
        return ""
    many = len(listed) > 1
    subject, verb = ("Machines", "are") if many else ("Machine", "is")
    return f"{subject} {shorten(listed, 3)} {verb} {rest}"
