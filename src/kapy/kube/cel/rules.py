"""The CEL rules of a schema node: compiled at their first use, then run on values.

A rule cannot use a value that does not have the type that its schema declares. Schema validation
accepts few of them (an integer written as 1.0), but an old value may have any type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.cel.compiler import DEFAULT_LIMIT, Program, compile_expression
from kapy.kube.cel.equality import reading
from kapy.kube.cel.errors import CompileError, CostExceeded, EvaluationError
from kapy.kube.cel.schema_types import declared_type
from kapy.kube.cel.types import Type, optional_of
from kapy.kube.cel.values import NONE, some
from kapy.kube.field_errors import NO_VALUE, FieldError
from kapy.kube.regexp import cost
from kapy.kube.schema.rules import ABSENT, CheckedValue, Findings, Rules

_EXPECTED: Final = {
    "string": "string",
    "bytes": "string",
    "timestamp": "string",
    "duration": "string",
    "double": "float",
    "int": "int",
    "bool": "bool",
}
_GO: Final[dict[type, str]] = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    dict: "map[string]interface {}",
    list: "[]interface {}",
}


_MATCHING_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "float": (float, int),
    "int": (int,),
    "bool": (bool,),
}


def matching_types(kind: Type) -> frozenset[type]:
    """Return the Python types that always match: a fast check before the complete one."""
    expected = _EXPECTED.get(kind.name)
    if expected is not None:
        return frozenset(_MATCHING_TYPES[expected])
    if kind.name in ("map", "object"):
        return frozenset((dict,))
    return frozenset((list,) if kind.name == "list" else ())


def type_mismatch(kind: Type, value: Any) -> str:
    """Return the reason for which a value does not have a type, "" if it does. Null is ignored, and
    the parts of objects and lists are not checked.
    """
    if value is None:
        return ""
    expected = _EXPECTED.get(kind.name)
    if expected is not None:
        if isinstance(value, _MATCHING_TYPES[expected]) and (expected == "bool") is isinstance(
            value, bool
        ):
            return ""
        got = next(name for key, name in _GO.items() if isinstance(value, key))
        return f"invalid data, expected {expected}, got {got}"
    if kind.name in ("map", "object") and not isinstance(value, dict):
        return "invalid data, expected a map for the provided schema with type=object"
    if kind.name == "list" and not isinstance(value, list):
        return "invalid data, expected an array for the provided schema with type=array"
    if kind.name == "dyn" and (not isinstance(value, (str, int)) or isinstance(value, bool)):
        return "invalid data, expected XIntOrString value to be either a string or integer"
    return ""


_UNIT: Final = 100
"""Nanoseconds that one unit of an expression's cost takes at most."""

_MAX_MESSAGE: Final = 5 * 1024
_INVALID: Final = "FieldValueInvalid"
_NO_OVERLOAD: Final = "no such overload"
_BUDGET_EXHAUSTED: Final = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
_KEYED_PATH: Final = re.compile(r"\[['\"]([^'\"]+)['\"]\]")


def rule_checker(schema: Document, *, root: bool) -> Rules:
    """Return the check for the rules of a schema node (a `RuleChecker`)."""
    return NodeRules(schema, root=root)


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled CEL rule of a schema. text: the text of the rule in messages."""

    program: Program
    message: str
    message_program: Program | None
    text: str
    reason: str
    field_path: str
    uses_old: bool
    optional_old: bool


def variables(kind: Type, rule: Document) -> dict[str, Type]:
    """Return the variables of a rule with their types."""
    old = optional_of(kind) if rule.get("optionalOldSelf") else kind
    return {"self": kind, "oldSelf": old}


def rule_of(document: Document, kind: Type) -> Rule:
    """Compile a rule for values of a type. Raises CompileError."""
    names = variables(kind, document)
    source = document["rule"].strip()
    message = (document.get("message") or "").strip()
    expression = document.get("messageExpression")
    program = compile_expression(document["rule"], names)
    result = _message_program(expression, names) if expression else None
    used = program.uses | (result.uses if result else frozenset())
    return Rule(
        program=program,
        message=message if document.get("message") else f"failed rule: {source}",
        message_program=result,
        text=message or source,
        reason=document.get("reason") or _INVALID,
        field_path=normalize_path(document.get("fieldPath") or ""),
        uses_old="oldSelf" in used,
        optional_old=bool(document.get("optionalOldSelf")),
    )


def _message_program(expression: str, names: dict[str, Type]) -> Program | None:
    """Compile a message expression. Returns None if it is invalid (in an object stored before the
    validation existed): the rule then uses its other message.
    """
    try:
        return compile_expression(expression, names)
    except CompileError:
        return None


def normalize_path(path: str) -> str:
    """Return a rule's fieldPath in the form of error messages: `.a['b.c']` becomes `a[b.c]`."""
    return _KEYED_PATH.sub(r"[\1]", path.strip()).removeprefix(".")


class NodeRules:
    """The rules of one node; a call checks a value and adds the violations to the findings."""

    def __init__(self, schema: Document, *, root: bool) -> None:
        self._schema = schema
        self._root = root
        self._compiled: list[Rule | str] | None = None
        self._read: Any = None
        self._kind: Type | None = None
        self._fitting: frozenset[type] = frozenset()

    def __call__(self, checked: CheckedValue, findings: Findings) -> None:
        rules = self._compiled
        if rules is None:
            rules = self._compiled = self._compile()
        value, wrong = self._rule_value(checked.value)
        old, wrong_old = self._rule_value(checked.old)
        for rule in rules:
            if isinstance(rule, str):
                kind = self._schema.get("type") or ""
                findings.errors.append(FieldError(_INVALID, checked.path, rule, kind))
            elif not (rule.uses_old and old is ABSENT and not rule.optional_old):
                used = rule.program.uses
                problem = (wrong if "self" in used else "") or (
                    wrong_old if "oldSelf" in used else ""
                )
                if problem:
                    detail = f"{problem} evaluating rule: {rule.text}"
                    _add(rule, _error(checked, detail), checked, findings)
                else:
                    _run(rule, value, old, checked, findings)
            if findings.budget < 0:
                return

    def _rule_value(self, value: Any) -> tuple[Any, str]:
        """Return the value in CEL's form, and the reason if it cannot be used in rules."""
        kind = self._kind
        if kind is None or value is ABSENT:
            return value, ""
        problem = "" if type(value) in self._fitting else type_mismatch(kind, value)
        return value if problem or self._read is None else self._read(value), problem

    def _compile(self) -> list[Rule | str]:
        """Compile the rules; none of a node whose type CEL does not know, as in kube-apiserver."""
        kind = self._kind = declared_type(self._schema, resource=self._root)
        if kind is None:
            return []
        self._read, self._fitting = reading(kind), matching_types(kind)
        rules = self._schema["x-kubernetes-validations"]
        return [self._compile_one(rule, kind) for rule in rules if (rule.get("rule") or "").strip()]

    def _compile_one(self, document: Document, kind: Type) -> Rule | str:
        """Compile a rule; returns the error text if it is invalid (it was stored before the
        validation existed).
        """
        try:
            rule = rule_of(document, kind)
        except CompileError as error:
            return f"rule compile error: compilation failed: {error}"
        if rule.program.type.name not in ("bool", "dyn"):
            return "rule compile error: cel expression must evaluate to a bool"
        return rule


def _run(rule: Rule, value: Any, old: Any, checked: CheckedValue, findings: Findings) -> None:
    old_value = old
    if rule.optional_old:
        old_value = NONE if old is ABSENT or old is None else some(old)
    limit = min(DEFAULT_LIMIT, findings.budget)
    try:
        result, rest = rule.program.run(value, old_value, limit=limit)
    except CostExceeded as error:
        findings.errors.append(_error(checked, _too_costly(rule, error, limit)))
        findings.budget = -1
        return
    except EvaluationError as error:
        _add(rule, _error(checked, _failure(rule, error)), checked, findings)
        return
    findings.budget -= limit - rest
    if not _within_time(limit - rest, checked, findings):
        return
    if result is not True:
        _add(rule, _violation(rule, value, old_value, checked, findings), checked, findings)


def _within_time(spent: int, checked: CheckedValue, findings: Findings) -> bool:
    """Return whether the rules and patterns of the object are still within their time limit."""
    try:
        cost.current().charge(spent * _UNIT)
    except cost.TooCostly:
        findings.errors.append(_error(checked, _BUDGET_EXHAUSTED))
        findings.budget = -1
        return False
    return True


def _add(rule: Rule, error: FieldError, checked: CheckedValue, findings: Findings) -> None:
    forgiven = not rule.uses_old and checked.unchanged
    (findings.warnings if forgiven else findings.errors).append(error)


def _too_costly(rule: Rule, error: CostExceeded, limit: int) -> str:
    if limit < DEFAULT_LIMIT:
        return _BUDGET_EXHAUSTED
    return (
        f"'{error}': no further validation rules will be run due to call cost exceeds limit "
        f"for rule: {rule.text}"
    )


def _failure(rule: Rule, error: EvaluationError) -> str:
    if str(error).startswith(_NO_OVERLOAD):
        return (
            f"'{error}': call arguments did not match a supported operator, function or macro "
            f"signature for rule: {rule.text}"
        )
    return f"{error} evaluating rule: {rule.text}"


def _error(checked: CheckedValue, detail: str) -> FieldError:
    return FieldError(
        "FieldValueInvalid", checked.path or "<nil>", detail, _shown_value(checked.value)
    )


def _shown_value(value: Any) -> Any:
    """Return the value in the form of messages, in which objects and lists are not shown."""
    return NO_VALUE if isinstance(value, (dict, list)) else value


def _violation(
    rule: Rule, value: Any, old: Any, checked: CheckedValue, findings: Findings
) -> FieldError:
    detail = _message(rule, value, old, findings)
    path = checked.path
    if rule.field_path:
        dot = "." if path and not rule.field_path.startswith("[") else ""
        path = f"{path}{dot}{rule.field_path}"
    path = path or "<nil>"
    match rule.reason:
        case "FieldValueForbidden" | "FieldValueRequired":
            return FieldError(rule.reason, path, detail)
        case "FieldValueDuplicate":
            return FieldError(rule.reason, path, "", _shown_value(checked.value))
    return FieldError("FieldValueInvalid", path, detail, _shown_value(checked.value))


def _message(rule: Rule, value: Any, old: Any, findings: Findings) -> str:
    """Return the result of the message expression, or the static message if the expression fails or
    returns an empty text.
    """
    if rule.message_program is None:
        return rule.message
    limit = max(0, min(DEFAULT_LIMIT, findings.budget))
    try:
        text, rest = rule.message_program.run(value, old, limit=limit)
    except EvaluationError:
        return rule.message
    findings.budget -= limit - rest
    if not isinstance(text, str) or "\n" in text or len(text) > _MAX_MESSAGE:
        return rule.message
    return text.strip() or rule.message
