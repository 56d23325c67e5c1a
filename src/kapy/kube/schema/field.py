"""The schema of one field, for values that stand in no object of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kapy.kube import Document
from kapy.kube.field_errors import FieldError
from kapy.kube.schema.defaulting import complete
from kapy.kube.schema.node import Node, compiled
from kapy.kube.schema.rules import ABSENT, RuleChecker, RuleWalk
from kapy.kube.schema.validation import counterparts, validate_changed


class FieldSchema:
    """What a structural schema says about the values of one field, built once."""

    def __init__(self, node: Node) -> None:
        self._node = node

    @classmethod
    def compile(cls, schema: Document, *, rules: RuleChecker | None = None) -> FieldSchema:
        """From a structural schema. rules: compiles CEL rules; without it they are not checked."""
        node = compiled(schema, rules)
        complete(node)
        return cls(node)

    def validate(self, value: Any, path: str, old: Any = ABSENT) -> list[FieldError]:
        """What is wrong with a value at `path`; rules are asked only if nothing else is.

        old: what it was, for rules about changes.
        """
        errors: list[FieldError] = []
        validate_changed(self._node, value, ABSENT, "", errors)
        if not errors and self._node.has_rules:
            walk = RuleWalk(counterparts)
            walk.check(self._node, value, old, "", (value, old))
            errors = walk.findings.errors
        return [replace(one, field=_within(path, one.field)) for one in errors]


def _within(path: str, field: str) -> str:
    if field in ("", "<nil>"):
        return path
    return path + field if field.startswith("[") else f"{path}.{field}"
