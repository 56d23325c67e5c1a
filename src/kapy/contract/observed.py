"""What a read found out: found, absent and unreadable are three things.

A read error is never "not there": who deletes or replaces because something is absent must have
been told so by the server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeAlias, TypeVar

from kapy.contract.errors import ContractError
from kapy.contract.fields import View
from kapy.kube import Key

V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)

LOOK_AT_LOGS: Final = "Please check controller logs for errors"


@dataclass(frozen=True, slots=True)
class Found(Generic[V_co]):
    """It is there. problem: how it breaks its contract, as far as somebody has stumbled over it."""

    view: V_co
    problem: ContractError | None = None


@dataclass(frozen=True, slots=True)
class Absent:
    """The API server says that it does not exist (or nothing refers to it)."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Not known: the read failed."""

    error: Exception


Observed: TypeAlias = Found[V] | Absent | Unreadable


def complaint(observed: Observed[View]) -> str:
    """What a condition says of an object that breaks its contract: rule, object and field.

    "" when it does not. Whatever else makes an object unreadable is not for users to put right.
    """
    match observed:
        case Found(view, problem) if problem is not None:
            who = f"{view.kind} {Key.of(view.document)}"
            return f"{who} breaks the {type(view).__name__} contract {view.contract}: {problem}"
        case Unreadable(error):
            return str(error) if isinstance(error, ContractError) else LOOK_AT_LOGS
    return ""
