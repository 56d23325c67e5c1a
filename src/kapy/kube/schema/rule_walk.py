"""Evaluation of CEL rules (`x-kubernetes-validations`) over an object.

A violation by an unchanged value is a warning instead of an error (ratcheting), unless the rule
refers to the old value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from kapy.kube import Document
from kapy.kube.field_errors import Path, member
from kapy.kube.schema.node import Node
from kapy.kube.schema.rules import ABSENT, CheckedValue, Findings

Counterparts: TypeAlias = Callable[[Node, list[Any], Any], list[Any]]
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
