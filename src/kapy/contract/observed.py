"""What a read found out: found, absent and unreadable are three things.

A read error is never "not there": who deletes or replaces because something is absent must have
been told so by the server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Found(Generic[V_co]):
    """It is there."""

    view: V_co


@dataclass(frozen=True, slots=True)
class Absent:
    """The API server says that it does not exist (or nothing refers to it)."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Not known: the read failed."""

    error: Exception


Observed: TypeAlias = Found[V] | Absent | Unreadable
