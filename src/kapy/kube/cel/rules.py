"""The rules of a schema node: compiled when they are first needed, then run on values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.cel.compiler import DEFAULT_LIMIT, Program, compiled
from kapy.kube.cel.equality import reading
from kapy.kube.cel.errors import CompileError, CostExceeded, EvaluationError
from kapy.kube.cel.misfits import fitting_types, misfit
from kapy.kube.cel.schema_types import declared
from kapy.kube.cel.types import Type, optional_of
from kapy.kube.cel.values import NONE, some
from kapy.kube.field_errors import NO_VALUE, FieldError
from kapy.kube.regexp import cost
from kapy.kube.schema.rules import ABSENT, Checked, Findings, Rules

_UNIT: Final = 100
"""Nanoseconds that one unit of an expression's cost takes at most."""

_LONGEST_MESSAGE: Final = 5 * 1024
_INVALID: Final = "FieldValueInvalid"
_NO_OVERLOAD: Final = "no such overload"
_EXHAUSTED: Final = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
_KEYED: Final = re.compile(r"\[['\"]([^'\"]+)['\"]\]")

_UNTYPED: Final = "failed to convert to declType for CEL validation rules"


def rule_checker(schema: Document, *, root: bool) -> Rules:
    """The check of a node's rules (a `RuleChecker`)."""
    return NodeRules(schema, root=root)


@dataclass(frozen=True, slots=True)
class Rule:
    """One compiled rule. text: what messages call it."""

    program: Program
    message: str
    message_program: Program | None
    text: str
    reason: str
    field_path: str
    uses_old: bool
    optional_old: bool


def variables(kind: Type, rule: Document) -> dict[str, Type]:
    """What a rule may speak of."""
    old = optional_of(kind) if rule.get("optionalOldSelf") else kind
    return {"self": kind, "oldSelf": old}


def rule_of(document: Document, kind: Type) -> Rule:
    """A rule about values of a type. Raises CompileError."""
    names = variables(kind, document)
    source = document["rule"].strip()
    message = (document.get("message") or "").strip()
    expression = document.get("messageExpression")
    program = compiled(document["rule"], names)
    said = _message_program(expression, names) if expression else None
    used = program.uses | (said.uses if said else frozenset())
    return Rule(
        program=program,
        message=message or f"failed rule: {source}",
        message_program=said,
        text=message or source,
        reason=document.get("reason") or _INVALID,
        field_path=normalised(document.get("fieldPath") or ""),
        uses_old="oldSelf" in used,
        optional_old=bool(document.get("optionalOldSelf")),
    )


def _message_program(expression: str, names: dict[str, Type]) -> Program | None:
    """Of a message; one that does not compile (an object stored before that was checked) is let
    be, because the rule has another message."""
    try:
        return compiled(expression, names)
    except CompileError:
        return None


def normalised(path: str) -> str:
    """A rule's fieldPath as errors show it: `.a['b.c']` is `a[b.c]`."""
    return _KEYED.sub(r"[\1]", path.strip()).removeprefix(".")


class NodeRules:
    """The rules of one node; called with a value they add what they find."""

    def __init__(self, schema: Document, *, root: bool) -> None:
        self._schema = schema
        self._root = root
        self._compiled: list[Rule | str] | None = None
        self._read: Any = None
        self._kind: Type | None = None
        self._fitting: frozenset[type] = frozenset()

    def __call__(self, checked: Checked, findings: Findings) -> None:
        rules = self._compiled
        if rules is None:
            rules = self._compiled = self._compile()
        value, wrong = self._usable(checked.value)
        old, wrong_old = self._usable(checked.old)
        for rule in rules:
            if isinstance(rule, str):
                shown = self._schema.get("type") or ""
                findings.errors.append(FieldError(_INVALID, checked.path, rule, shown))
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

    def _usable(self, value: Any) -> tuple[Any, str]:
        """A value as rules read it, and why they cannot, if so."""
        kind = self._kind
        if kind is None or value is ABSENT:
            return value, ""
        problem = "" if type(value) in self._fitting else misfit(kind, value)
        return value if problem or self._read is None else self._read(value), problem

    def _compile(self) -> list[Rule | str]:
        kind = self._kind = declared(self._schema, resource=self._root)
        if kind is not None:
            self._read, self._fitting = reading(kind), fitting_types(kind)
        rules = self._schema["x-kubernetes-validations"]
        return [self._one(one, kind) for one in rules if (one.get("rule") or "").strip()]

    def _one(self, document: Document, kind: Type | None) -> Rule | str:
        """A rule, or why it cannot be run (it was stored before it was checked)."""
        if kind is None:
            return f"rule compiler initialization error: {_UNTYPED}"
        try:
            rule = rule_of(document, kind)
        except CompileError as error:
            return f"rule compile error: compilation failed: {error}"
        if rule.program.type.name not in ("bool", "dyn"):
            return "rule compile error: cel expression must evaluate to a bool"
        return rule


def _run(rule: Rule, value: Any, old: Any, checked: Checked, findings: Findings) -> None:
    given = old
    if rule.optional_old:
        given = NONE if old is ABSENT or old is None else some(old)
    limit = min(DEFAULT_LIMIT, findings.budget)
    try:
        result, rest = rule.program.run(value, given, limit=limit)
    except CostExceeded as error:
        findings.errors.append(_error(checked, _too_costly(rule, error, limit)))
        findings.budget = -1
        return
    except EvaluationError as error:
        _add(rule, _error(checked, _failure(rule, error)), checked, findings)
        return
    findings.budget -= limit - rest
    if not _allowed(limit - rest, checked, findings):
        return
    if result is not True:
        _add(rule, _broken(rule, value, given, checked, findings), checked, findings)


def _allowed(spent: int, checked: Checked, findings: Findings) -> bool:
    """Whether all rules and patterns of the object have not taken too long together."""
    try:
        cost.current().charge(spent * _UNIT)
    except cost.TooCostly:
        findings.errors.append(_error(checked, _EXHAUSTED))
        findings.budget = -1
        return False
    return True


def _add(rule: Rule, error: FieldError, checked: Checked, findings: Findings) -> None:
    forgiven = not rule.uses_old and checked.unchanged
    (findings.warnings if forgiven else findings.errors).append(error)


def _too_costly(rule: Rule, error: CostExceeded, limit: int) -> str:
    if limit < DEFAULT_LIMIT:
        return _EXHAUSTED
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


def _error(checked: Checked, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", checked.path or "<nil>", detail, _shown(checked.value))


def _shown(value: Any) -> Any:
    """The value that a message shows: objects and lists are not."""
    return NO_VALUE if isinstance(value, (dict, list)) else value


def _broken(rule: Rule, value: Any, old: Any, checked: Checked, findings: Findings) -> FieldError:
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
            return FieldError(rule.reason, path, "", _shown(checked.value))
    return FieldError("FieldValueInvalid", path, detail, _shown(checked.value))


def _message(rule: Rule, value: Any, old: Any, findings: Findings) -> str:
    """What the message expression says, or the message when that says nothing of use."""
    if rule.message_program is None:
        return rule.message
    limit = max(0, min(DEFAULT_LIMIT, findings.budget))
    try:
        text, rest = rule.message_program.run(value, old, limit=limit)
    except EvaluationError:
        return rule.message
    findings.budget -= limit - rest
    if not isinstance(text, str) or "\n" in text or len(text) > _LONGEST_MESSAGE:
        return rule.message
    return text.strip() or rule.message
