"""How messages read: what several kinds say in the same words, and lists of names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

LOOK_AT_LOGS: Final = "Please check controller logs for errors"
"""What a condition says of a failure that is not the user's, and over with the next try."""


def shortened(names: Iterable[str], most: int) -> str:
    """The first `most` names, and how many more there are."""
    listed = list(names)
    more = len(listed) - most
    if more > 0:
        listed[most:] = [f"... ({more} more)"]
    return ", ".join(listed)


def machines_are(names: Iterable[str], rest: str) -> str:
    """ "Machine a is …", "Machines a, b are …": up to three names, sorted; "" for none."""
    listed = sorted(names)
    if not listed:
        return ""
    many = len(listed) > 1
    subject, verb = ("Machines", "are") if many else ("Machine", "is")
    return f"{subject} {shortened(listed, 3)} {verb} {rest}"
