"""What a read found out: found, absent and unreadable are three things.

A read error is never "not there": who deletes or replaces because something is absent must have
been told so by the server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeAlias, TypeVar

from kapy.api.wording import LOOK_AT_LOGS
from kapy.contract.errors import ContractError
from kapy.contract.fields import View
from kapy.contract.ownership import OwnedByAnother
from kapy.kube import Key
from kapy.kube.errors import Forbidden, Invalid, ServerError

V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Found(Generic[V_co]):
    """It is there. problem: how it breaks its contract, as far as somebody has stumbled over it."""

    view: V_co
    problem: ContractError | None = None


@dataclass(frozen=True, slots=True)
class Absent:
    """The object does not exist, or nothing refers to it."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Not known: the read failed."""

    error: Exception


Observed: TypeAlias = Found[V] | Absent | Unreadable


def complaint(observed: Observed[View]) -> str:
    """What a condition says of an object that breaks its contract: rule, object and field.

    "" when it does not.
    """
    match observed:
        case Found(view, problem) if problem is not None:
            who = f"{view.kind} {Key.of(view.document)}"
            return f"{who} breaks the {type(view).__name__} contract {view.contract}: {problem}"
        case Unreadable(error):
            return because(error)
    return ""


def because(error: Exception) -> str:
    """Why a provider's object cannot be read or owned, as far as it concerns the user.

    What breaks the contract or is refused stays so until somebody does something; what is over
    with the next try is left to the log.
    """
    return str(error) if isinstance(error, _LASTING) else LOOK_AT_LOGS


_LASTING: Final = (ContractError, OwnedByAnother, Forbidden, Invalid, ServerError)
