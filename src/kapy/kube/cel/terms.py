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
    """A compiled part of a CEL expression. type: the type of its value. run: computes the value.
    cost: the maximum cost of a run, in kube-apiserver's unit. constant: whether the value is a
    literal.
    """

    type: Type
    run: Run
    cost: int = 0
    constant: bool = False

    @property
    def max_size(self) -> int:
        """The maximum number of characters, items or entries of the value."""
        return UNBOUNDED if self.type.max_size is None else self.type.max_size


def charge(frame: Frame, cost: int) -> None:
    """Subtract a cost from the limit. Raises CostExceeded."""
    frame[0] -= cost
    if frame[0] < 0:
        raise CostExceeded


def bound_cost(cost: int) -> int:
    """Return a cost, limited to the largest representable one."""
    return min(cost, UNBOUNDED)
