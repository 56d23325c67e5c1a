"""The result of reading an object: found, absent or unreadable.

A read error never counts as absence: a controller that deletes or replaces because of an absence
must have a confirmation from the server.
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
    """The result of a read: the object exists. problem: the contract violation that was found, if
    any.
    """

    view: V_co
    problem: ContractError | None = None


@dataclass(frozen=True, slots=True)
class Absent:
    """The result of a read: the object does not exist, or nothing refers to it."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The result of a read that failed, so that the state of the object is unknown."""

    error: Exception


Observed: TypeAlias = Found[V] | Absent | Unreadable


def contract_violation(observed: Observed[View]) -> str:
    """Return the contract violation of an object for a condition: rule, object and field.

    Returns "" if there is none.
    """
    match observed:
        case Found(view, problem) if problem is not None:
            who = f"{view.kind} {Key.of(view.document)}"
            return f"{who} breaks the {type(view).__name__} contract {view.contract}: {problem}"
        case Unreadable(error):
            return read_error_reason(error)
    return ""


def read_error_reason(error: Exception) -> str:
    """Return why a provider's object cannot be read or owned, if the user can do something about
    it.

    Violations and refusals last until the user acts; transient errors are left to the log.
    """
    return str(error) if isinstance(error, _LASTING) else LOOK_AT_LOGS


_LASTING: Final = (ContractError, OwnedByAnother, Forbidden, Invalid, ServerError)
