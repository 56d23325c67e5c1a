"""Errors and warnings about a Container Linux Config."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

_VERBS: Final = ("is ", "has ", "must ", "cannot ")


@dataclass(slots=True)
class Report:
    """Problems of a config. errors: always refused. warnings: refused in strict mode only."""

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def fail(self, path: str, problem: str) -> None:
        """Add an error about the field at a path."""
        self.errors.append(_sentence(path, problem))

    def warn(self, path: str, problem: str) -> None:
        """Add a warning about the field at a path."""
        self.warnings.append(_sentence(path, problem))

    def check(self, path: str, problem: str) -> None:
        """Add an error about the field at a path, unless the problem is empty."""
        if problem:
            self.fail(path, problem)


def _sentence(path: str, problem: str) -> str:
    return f"{path} {problem}" if problem.startswith(_VERBS) else f"{path}: {problem}"


def nonempty_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields that have a value; empty ones and zeros are left out, as Go's `omitempty` does."""
    return {name: value for name, value in fields.items() if value}
