"""Compilation of `matchConditions`: CEL expressions about a request to a webhook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kapy.kube.cel import CompileError, Program, compile_expression
from kapy.kube.cel.types import BOOL, DYN, Type

_VARIABLES: Final = {
    "object": DYN,
    "oldObject": DYN,
    "request": DYN,
    "authorizer": Type("kubernetes.authorization.Authorizer"),
    "authorizer.requestResource": Type("kubernetes.authorization.ResourceCheck"),
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A compiled match condition of a webhook: a CEL expression and its program."""

    expression: str
    program: Program

    @classmethod
    def compile(cls, expression: str) -> Condition:
        """Compile the CEL expression of a match condition. Raises CompileError."""
        return cls(expression, compile_expression(expression, _VARIABLES))


def compile_error(expression: str) -> str:
    """Return the compile error of an expression, "" if it is valid."""
    try:
        program = compile_expression(expression, _VARIABLES)
    except CompileError as error:
        return f"compilation failed: {error}"
    if program.type.name not in (BOOL.name, DYN.name):
        return "must evaluate to bool"
    return ""
