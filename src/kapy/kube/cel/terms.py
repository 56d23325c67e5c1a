"""A compiled part of an expression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kapy.kube.cel.errors import CostExceeded
from kapy.kube.cel.types import Type

Frame: TypeAlias = list[Any]
"""The variables of one run by slot; the first one is the work that is still allowed."""

Run: TypeAlias = Callable[[Frame], Any]

UNBOUNDED: Final = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Term:
    """type: of its value. run: computes the value. cost: the most that a run may cost, in
    kube-apiserver's unit. constant: the value is a literal's."""

    type: Type
    run: Run
    cost: int = 0
    constant: bool = False

    @property
    def most(self) -> int:
        """The most characters, items or entries of the value."""
        return UNBOUNDED if self.type.most is None else self.type.most


def charge(frame: Frame, cost: int) -> None:
    """Take from the work that is still allowed. Raises CostExceeded."""
    frame[0] -= cost
    if frame[0] < 0:
        raise CostExceeded


def bounded(cost: int) -> int:
    """A cost that is no more than can be counted."""
    return min(cost, UNBOUNDED)
