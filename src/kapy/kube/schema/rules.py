"""Values that CEL rules (`x-kubernetes-validations`) check; the interface to a CEL engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

from kapy.kube import Document
from kapy.kube.field_errors import FieldError, Path, path_text
from kapy.kube.patch.merge_patch import is_equal_json

BUDGET: Final = 10_000_000
"""The CEL cost limit for all rules of one object, as in kube-apiserver."""


class Absent:
    """Represents an absent value, in contrast to null."""


ABSENT: Final = Absent()


@dataclass(slots=True)
class Findings:
    """The violations of rules in one object. budget: the remaining cost; if it is negative, no more
    rules run.
    """

    errors: list[FieldError] = field(default_factory=list)
    warnings: list[FieldError] = field(default_factory=list)
    budget: int = BUDGET


@dataclass(frozen=True, slots=True)
class CheckedValue:
    """One value that CEL rules check.

    at: the path of the value. old: the old value, or ABSENT. pair: the new and the old value, of
    this value or of the nearest ancestor with an old one.
    """

    at: Path
    value: Any
    old: Any
    pair: tuple[Any, Any]

    @property
    def path(self) -> str:
        """Return the path of the value in the form of messages."""
        return path_text(self.at)

    @property
    def unchanged(self) -> bool:
        """Report whether the value or one of its ancestors is unchanged."""
        return self.pair[1] is not ABSENT and is_equal_json(*self.pair)


Rules: TypeAlias = Callable[[CheckedValue, Findings], None]
"""Evaluates the rules of one schema node."""


class RuleChecker(Protocol):
    """Compiles the CEL rules of a schema node; the interface to a CEL engine."""

    def __call__(self, schema: Document, *, root: bool) -> Rules:
        """Return a function that checks values by the rules of a schema. root: whether it is the
        schema of a whole object.
        """
        ...
