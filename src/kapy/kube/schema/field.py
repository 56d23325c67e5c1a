"""The schema of one field, for values that are not in an object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.field_errors import FieldError
from kapy.kube.regexp import TooCostly, allowance
from kapy.kube.schema.defaulting import DefaultingPass, apply_defaults, complete
from kapy.kube.schema.node import Node, compile_schema
from kapy.kube.schema.pruning import Pruning
from kapy.kube.schema.rule_walk import RuleWalk
from kapy.kube.schema.rules import ABSENT, RuleChecker
from kapy.kube.schema.structural import too_costly
from kapy.kube.schema.validation import counterparts, validate_changed

_FIELD: Final = "value"


class FieldSchema:
    """The compiled structural schema of one field."""

    def __init__(self, around: Node) -> None:
        self._around = around
        self._node = around.properties[_FIELD]

    @classmethod
    def compile(cls, schema: Document, *, rules: RuleChecker | None = None) -> FieldSchema:
        """Compile a structural schema. rules: compiles CEL rules; without it they are not
        checked.
        """
        node = compile_schema({"type": "object", "properties": {_FIELD: schema}}, rules)
        complete(node)
        return cls(node)

    def default(self, value: Any = ABSENT) -> Any:
        """Return the value with defaults; ABSENT if there is neither.

        Nulls without a default stay.
        """
        document = {} if value is ABSENT else {_FIELD: value}
        return apply_defaults(self._around, document, filling=DefaultingPass(keep_nulls=True)).get(
            _FIELD, ABSENT
        )

    def unknown_fields(self, value: Any) -> list[str]:
        """Return the sorted paths of unknown fields in a value."""
        pruning = Pruning()
        pruning.prune(self._node, value, "")
        return sorted(pruning.unknown)

    def shape_errors(self, value: Any, path: str) -> list[FieldError]:
        """Return the errors of a value at `path`, except those of CEL rules."""
        errors: list[FieldError] = []
        try:
            with allowance():
                validate_changed(self._node, value, ABSENT, "", errors)
        except TooCostly as error:
            errors = [too_costly(error)]
        return [
            replace(field_error, field=_below(path, field_error.field)) for field_error in errors
        ]

    def rule_errors(self, value: Any, path: str, old: Any = ABSENT) -> list[FieldError]:
        """Return the errors of CEL rules. old: the old value, for transition rules."""
        if not self._node.has_rules:
            return []
        walk = RuleWalk(counterparts, ratcheting=False)
        walk.check(self._node, value, old, "", (value, ABSENT))
        return [replace(error, field=_within(path, error.field)) for error in walk.findings.errors]

    def validate(self, value: Any, path: str, old: Any = ABSENT) -> list[FieldError]:
        """Validate a value at `path`; CEL rules run only if there is no other error."""
        with allowance():
            return self.shape_errors(value, path) or self.rule_errors(value, path, old)


def _below(path: str, field: str) -> str:
    """Join paths like kube-apiserver, with a dot even before list items."""
    return path if field in ("", "<nil>") else f"{path}.{field.removeprefix('.')}"


def _within(path: str, field: str) -> str:
    return path + field if field.startswith("[") else _below(path, field)
