"""The schema of one field, for values that stand in no object of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.field_errors import FieldError
from kapy.kube.regexp import TooCostly, allowance
from kapy.kube.schema.defaulting import Filling, complete, defaulted
from kapy.kube.schema.node import Node, compiled
from kapy.kube.schema.pruning import Pruning
from kapy.kube.schema.rules import ABSENT, RuleChecker, RuleWalk
from kapy.kube.schema.structural import too_costly
from kapy.kube.schema.validation import counterparts, validate_changed

_FIELD: Final = "value"


class FieldSchema:
    """What a structural schema says about the values of one field, built once."""

    def __init__(self, around: Node) -> None:
        self._around = around
        self._node = around.properties[_FIELD]

    @classmethod
    def compile(cls, schema: Document, *, rules: RuleChecker | None = None) -> FieldSchema:
        """From a structural schema. rules: compiles CEL rules; without it they are not checked."""
        node = compiled({"type": "object", "properties": {_FIELD: schema}}, rules)
        complete(node)
        return cls(node)

    def default(self, value: Any = ABSENT) -> Any:
        """The value with defaults; ABSENT where there is neither a value nor a default. Nulls stay
        where no default takes their place."""
        given = {} if value is ABSENT else {_FIELD: value}
        return defaulted(self._around, given, filling=Filling(keep_nulls=True)).get(_FIELD, ABSENT)

    def unknown(self, value: Any) -> list[str]:
        """The paths of what the schema does not know in a value, sorted."""
        pruning = Pruning()
        pruning.pruned(self._node, value, "")
        return sorted(pruning.unknown)

    def shape_errors(self, value: Any, path: str) -> list[FieldError]:
        """What is wrong with a value at `path`, its rules aside."""
        errors: list[FieldError] = []
        try:
            with allowance():
                validate_changed(self._node, value, ABSENT, "", errors)
        except TooCostly as error:
            errors = [too_costly(error)]
        return [replace(one, field=_below(path, one.field)) for one in errors]

    def rule_errors(self, value: Any, path: str, old: Any = ABSENT) -> list[FieldError]:
        """Which CEL rules a value at `path` breaks. old: what it was, for rules about changes."""
        if not self._node.has_rules:
            return []
        walk = RuleWalk(counterparts, ratcheting=False)
        walk.check(self._node, value, old, "", (value, ABSENT))
        return [replace(one, field=_within(path, one.field)) for one in walk.findings.errors]

    def validate(self, value: Any, path: str, old: Any = ABSENT) -> list[FieldError]:
        """What is wrong with a value at `path`; rules are asked only if nothing else is."""
        with allowance():
            return self.shape_errors(value, path) or self.rule_errors(value, path, old)


def _below(path: str, field: str) -> str:
    """As kube-apiserver joins them, items of a list with a dot, too."""
    return path if field in ("", "<nil>") else f"{path}.{field.removeprefix('.')}"


def _within(path: str, field: str) -> str:
    return path + field if field.startswith("[") else _below(path, field)
