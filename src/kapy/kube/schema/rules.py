"""Evaluation of CEL rules (`x-kubernetes-validations`) over a value.

A violation by an unchanged value is a warning instead of an error (ratcheting), unless the rule
refers to the old value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from kapy.kube import Document
from kapy.kube.field_errors import FieldError
from kapy.kube.field_paths import Path, member, path_text
from kapy.kube.patch.merge_patch import is_equal_json

if TYPE_CHECKING:
    from kapy.kube.schema.node import Node

BUDGET: Final = 10_000_000
"""The CEL cost limit for all rules of one object, as in kube-apiserver."""


class Absent:
    """Represents an absent value, in contrast to null."""


ABSENT: Final = Absent()


@dataclass(slots=True)
class Findings:
    """The violations of one object. budget: the remaining cost; if it is negative, no more rules
    run.
    """

    errors: list[FieldError] = field(default_factory=list)
    warnings: list[FieldError] = field(default_factory=list)
    budget: int = BUDGET


@dataclass(frozen=True, slots=True)
class CheckedValue:
    """One value to check.

    at: its path. old: the old value, or ABSENT. pair: new and old value, of this value or of the
    nearest ancestor with an old one.
    """

    at: Path
    value: Any
    old: Any
    pair: tuple[Any, Any]

    @property
    def path(self) -> str:
        """Return the path as messages show it."""
        return path_text(self.at)

    @property
    def unchanged(self) -> bool:
        """Report whether the value or one of its ancestors is unchanged."""
        return self.pair[1] is not ABSENT and is_equal_json(*self.pair)


Rules: TypeAlias = Callable[[CheckedValue, Findings], None]
"""Evaluates the rules of one schema node."""


class RuleChecker(Protocol):
    """Compiles the rules of a schema node; the interface to a CEL engine."""

    def __call__(self, schema: Document, *, root: bool) -> Rules:
        """Return the check for a schema with rules. root: it is the schema of a whole object."""
        ...


Counterparts: TypeAlias = "Callable[[Node, list[Any], Any], list[Any]]"
"""Returns the old counterpart of each item of a list map, or ABSENT."""


class RuleWalk:
    """One walk over an object's values. ratcheting: accept violations by unchanged values."""

    def __init__(self, counterparts: Counterparts, *, ratcheting: bool = True) -> None:
        self.findings = Findings()
        self._counterparts = counterparts
        self._ratcheting = ratcheting

    def check(self, node: Node, value: Any, old: Any, path: Path, around: tuple[Any, Any]) -> None:
        """Evaluate the rules of a value and its descendants. around: the pair of the parent
        value.
        """
        if value is None or self.findings.budget < 0:
            return
        pair = around if old is ABSENT or not self._ratcheting else (value, old)
        if node.rules is not None:
            node.rules(CheckedValue(path, value, old, pair), self.findings)
        if isinstance(value, dict):
            self._members(node, value, old, path, pair)
        elif isinstance(value, list) and node.items is not None and node.items.has_rules:
            keyed = old if node.list_keys else None
            before = self._counterparts(node, value, keyed)
            for index, item in enumerate(value):
                self.check(node.items, item, before[index], (path, index), pair)

    def _members(
        self, node: Node, value: Document, old: Any, path: Path, pair: tuple[Any, Any]
    ) -> None:
        before = old if isinstance(old, dict) else {}
        more = node.additional
        if more is not None:
            if more.has_rules:
                for name, inner in value.items():
                    was = before.get(name, ABSENT)
                    self.check(more, inner, was, (path, f"[{name}]"), pair)
            return
        for name, child in node.ruled.items():
            if name in value:
                was = before.get(name, ABSENT)
                self.check(child, value[name], was, member(path, name), pair)
