"""What goes wrong with an expression: CompileError when written, EvaluationError when run."""

from __future__ import annotations

from kapy.kube.errors import KapyError


class CompileError(KapyError, ValueError):
    """The expression cannot be used; the text is cel-go's, with the line and a mark."""

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
    """The expression worked longer than it may."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def no_such_overload() -> EvaluationError:
    """A function was called with values that it is not there for."""
    return EvaluationError("no such overload")
