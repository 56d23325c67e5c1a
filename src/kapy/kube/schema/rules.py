"""Running the rules (`x-kubernetes-validations`) of a schema's nodes over a value.

What a rule finds in a value that did not change is a warning, not an error (ratcheting), unless the
rule speaks of the old value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from kapy.kube import Document
from kapy.kube.field_errors import FieldError
from kapy.kube.field_paths import Path, member, spelled
from kapy.kube.patch.merge_patch import same

if TYPE_CHECKING:
    from kapy.kube.schema.node import Node

BUDGET: Final = 10_000_000
"""What all rules of one object together may cost, as kube-apiserver has it."""


class Absent:
    """Stands for no value at all, which is not null."""


ABSENT: Final = Absent()


@dataclass(slots=True)
class Findings:
    """What the rules of one object found. budget: the cost that is left, negative when it ran
    out: then no rule is run any more."""

    errors: list[FieldError] = field(default_factory=list)
    warnings: list[FieldError] = field(default_factory=list)
    budget: int = BUDGET


@dataclass(frozen=True, slots=True)
class Checked:
    """One value under rules. at: its field. old: what it was, or ABSENT. pair: it and its old
    value, or those of the nearest value around it that has an old one."""

    at: Path
    value: Any
    old: Any
    pair: tuple[Any, Any]

    @property
    def path(self) -> str:
        """The field as messages show it."""
        return spelled(self.at)

    @property
    def unchanged(self) -> bool:
        """Whether the value, or what it stands in, is as it was."""
        return self.pair[1] is not ABSENT and same(*self.pair)


Rules: TypeAlias = Callable[[Checked, Findings], None]
"""Checks the rules of one schema node."""


class RuleChecker(Protocol):
    """Compiles the rules of a schema node: the seam to a CEL engine."""

    def __call__(self, schema: Document, *, root: bool) -> Rules:
        """The check for a node whose schema document is `schema`, which has rules.

        root: the schema is that of a whole object.
        """
        ...


Counterparts: TypeAlias = "Callable[[Node, list[Any], Any], list[Any]]"
"""For each item of a list that is a map what it was before, or ABSENT."""


class RuleWalk:
    """One walk over an object's values. ratcheting: forgive what a rule finds in values that did
    not change."""

    def __init__(self, counterparts: Counterparts, *, ratcheting: bool = True) -> None:
        self.findings = Findings()
        self._counterparts = counterparts
        self._ratcheting = ratcheting

    def check(self, node: Node, value: Any, old: Any, path: Path, around: tuple[Any, Any]) -> None:
        """Run the rules of a value and of all within it. around: the pair of what it stands in."""
        if value is None or self.findings.budget < 0:
            return
        pair = around if old is ABSENT or not self._ratcheting else (value, old)
        if node.rules is not None:
            node.rules(Checked(path, value, old, pair), self.findings)
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
