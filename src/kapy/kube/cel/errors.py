"""Errors of expressions: CompileError while compiling, EvaluationError while running."""

from __future__ import annotations

from kapy.kube.errors import KapyError


class CompileError(KapyError, ValueError):
    """The expression is invalid; the message is cel-go's, with the line and a position mark."""

    def __init__(self, problem: str, source: str, at: int) -> None:
        line = source.count("\n", 0, at)
        start = source.rfind("\n", 0, at) + 1
        column = at - start
        text = source.split("\n")[line]
        mark = "." * column + "^"
        super().__init__(f"ERROR: <input>:{line + 1}:{column + 1}: {problem}\n | {text}\n | {mark}")


class EvaluationError(KapyError, ValueError):
    """The expression has no value for these inputs (`no such key: a`, `integer overflow` …)."""


class CostExceeded(EvaluationError):
    """The evaluation exceeded its cost limit."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def no_such_overload() -> EvaluationError:
    """Return the error for a call with values of types that the function does not accept."""
    return EvaluationError("no such overload")
