"""`matchConditions`: CEL expressions about the request, all of which must hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.cel import CompileError, CostExceeded, EvaluationError, Program, compiled
from kapy.kube.cel.compiler import DEFAULT_LIMIT
from kapy.kube.cel.types import BOOL, DYN

BUDGET: Final = 2_500_000
"""What all conditions of one webhook may cost together, as kube-apiserver has it."""

_VARIABLES: Final = {"object": DYN, "oldObject": DYN, "request": DYN}


class ConditionFailed(Exception):
    """A condition has no value; the message is kube-apiserver's."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition, compiled."""

    expression: str
    program: Program

    @classmethod
    def of(cls, expression: str) -> Condition:
        """The compiled condition. Raises CompileError."""
        return cls(expression, compiled(expression, _VARIABLES))


def problem(expression: str) -> str:
    """What is wrong with an expression, "" when nothing is."""
    try:
        program = compiled(expression, _VARIABLES)
    except CompileError as error:
        return f"compilation failed: {error}"
    if program.type.name not in (BOOL.name, DYN.name):
        return "must evaluate to bool"
    return ""


def hold(
    conditions: Sequence[Condition], new: Document | None, old: Document | None, request: Document
) -> bool:
    """Whether all conditions are true; one that is false decides, whatever others fail with.

    Raises ConditionFailed.
    """
    failures: list[str] = []
    budget = BUDGET
    for one in conditions:
        limit = min(DEFAULT_LIMIT, budget)
        try:
            value: Any
            value, left = one.program.run(new, old, request, limit=limit)
            budget -= limit - left
        except EvaluationError as error:
            if isinstance(error, CostExceeded):
                budget -= limit
            failures.append(f"expression '{one.expression}' resulted in error: {error}")
            continue
        if value is not True:
            return False
    if failures:
        raise ConditionFailed(failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]")
    return True
