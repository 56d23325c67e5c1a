"""Validates the CEL rules of a CustomResourceDefinition, with kube-apiserver's messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from kapy.kube import Document
from kapy.kube.cel.compiler import Program, compile_expression
from kapy.kube.cel.errors import CompileError
from kapy.kube.cel.rules import variables
from kapy.kube.cel.schema_types import MAX_REQUEST, declared_type
from kapy.kube.cel.types import Type
from kapy.kube.field_errors import FieldError, FixedText, forbidden, invalid, required
from kapy.kube.regexp import cost
from kapy.kube.schema.definition import TOO_LARGE
from kapy.kube.schema.traversal import FieldPathError, field_at

RULE_LIMIT: Final = 10_000_000
"""The limit of the estimated cost of one rule, run as often as one object can require."""

TOTAL_LIMIT: Final = 100_000_000
"""The limit of the estimated cost of all rules of a schema together."""

_CHARACTER: Final = 3000
"""Nanoseconds that it takes at most to compile one character of an expression."""

_LARGER: Final = 5
"""How much longer the rules of a definition may take than those of one object."""

_MAX_LENGTH: Final = 2048
_MAX_SHOWN_EXPENSIVE: Final = 4
_REASONS: Final = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
_ADVICE: Final = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
    "maps, and strings are declared)"
)
_BREAK: Final = re.compile(r"[\r\n]")


@dataclass(slots=True)
class _Place:
    """A node of the schema. times: the maximum number of its occurrences in an object, None if
    unlimited. unmatched: the path of the enclosing list or map whose items cannot be matched with
    old ones, or ""."""

    schema: Document
    path: str
    times: int | None = 1
    unmatched: str = ""
    root: bool = False


@dataclass(slots=True)
class _Costs:
    total: int = 0
    rules: list[tuple[int, str]] = field(default_factory=list)

    def add(self, cost: int, path: str) -> None:
        """Add a cost; rules above one percent of the limit are listed in the error if it is
        exceeded.
        """
        self.total += cost
        if cost >= TOTAL_LIMIT // 100:
            self.rules.append((cost, path))


def rule_errors(
    schema: Document, path: str, *, root: bool = True, counted: str = "rule"
) -> list[FieldError]:
    """Return the errors of all rules in the schema of a variable.

    path: the path of the schema. root: it is the schema of a whole object. counted: the subject of
    the error about the total cost.
    """
    texts = rule_text_errors(schema, path)
    flawed = tuple(error.field for error in texts)
    rules = _Rules(path, counted=counted, flawed=flawed, of_variable=True)
    return [*texts, *rules.errors(_Place(schema, path, root=root))]


def rule_text_errors(schema: Document, path: str) -> list[FieldError]:
    """Return the errors of all texts of the rules in the schema of a variable."""
    return list(_text_errors(schema, path))


def definition_rule_errors(
    schema: Document, path: str, *, flawed: Sequence[str] = (), cheap: bool = True
) -> list[FieldError]:
    """Return the errors of all rules in the schema of one version of a definition.

    path: the path of the schema (`spec.versions[0].schema.openAPIV3Schema`). flawed: fields with
    errors; rules of them and of the fields around them are skipped. cheap: a limit applies to the
    cost of each rule.
    """
    rules = _Rules(path, flawed=tuple(flawed), cheap=cheap)
    return rules.errors(_Place(schema, path, root=True))


@dataclass(slots=True)
class _Rules:
    """One validation of a schema's rules. of_variable: the schema is that of a variable."""

    path: str
    counted: str = "rule"
    flawed: tuple[str, ...] = ()
    cheap: bool = True
    of_variable: bool = False
    costs: _Costs = field(default_factory=_Costs)

    def errors(self, place: _Place) -> list[FieldError]:
        """Return the errors of a node and its descendants."""
        with cost.allowance(cost.MAX_NANOSECONDS * _LARGER):
            try:
                errors = list(self._node_errors(place))
            except cost.TooCostly:
                return [forbidden(self.path, TOO_LARGE)]
        if self.costs.total > TOTAL_LIMIT:
            for _, path in sorted(self.costs.rules, key=lambda rule: -rule[0])[
                :_MAX_SHOWN_EXPENSIVE
            ]:
                text = f"contributed to estimated {self.counted} cost total exceeding cost limit"
                errors.append(forbidden(path, f"{text} for entire OpenAPIv3 schema"))
            what = (
                f"x-kubernetes-validations estimated {self.counted} cost total for entire "
                "OpenAPIv3 schema"
            )
            text = _too_costly(what, self.costs.total, TOTAL_LIMIT)
            errors.append(forbidden(self.path, text))
        return errors

    def _node_errors(self, place: _Place) -> Iterator[FieldError]:
        schema = place.schema
        if not _BELOW.isdisjoint(schema):
            for below in _child_places(place, of_variable=self.of_variable):
                yield from self._node_errors(below)
        rules = schema.get("x-kubernetes-validations")
        inside = f"{place.path}."
        if not rules or any(item.startswith(inside) for item in self.flawed):
            return
        kind = declared_type(schema, resource=place.root)
        path = f"{place.path}.x-kubernetes-validations"
        if kind is None and not self.of_variable:
            yield FieldError("InternalError", path, _NO_TYPES)
            return
        for index, rule in enumerate(rules):
            yield from self._rule_errors(place, rule, f"{path}[{index}]", kind)

    def _rule_errors(
        self, place: _Place, rule: Document, path: str, kind: Type | None
    ) -> Iterator[FieldError]:
        source = rule.get("rule") or ""
        if not source.strip():
            if not self.of_variable:
                yield required(f"{path}.rule", "rule is not specified")
            return
        if kind is None:
            text = "rule compiler initialization error: the schema has no type"
            yield _invalid_rule(f"{path}.rule", rule, text)
            return
        names = variables(kind, rule)
        wanted = "cel expression must evaluate to a bool"
        program, problem = _compile(source, names, "bool", wanted)
        if program is None:
            yield _invalid_rule(f"{path}.rule", rule, problem)
        else:
            times = place.times
            times = times if times is not None else MAX_REQUEST // (kind.min_size + 1)
            yield from self._cost_errors("rule", program.cost * times, f"{path}.rule")
            yield from self._message_errors(rule, names, f"{path}.messageExpression")
        yield from _old_errors(
            place, rule, path, uses="oldSelf" in program.uses if program else False
        )

    def _message_errors(
        self, rule: Document, names: dict[str, Type], path: str
    ) -> Iterator[FieldError]:
        expression = rule.get("messageExpression")
        if not expression:
            return
        wanted = "messageExpression must evaluate to a string"
        program, problem = _compile(expression, names, "string", wanted, "messageExpression ")
        if program is None:
            yield _invalid_rule(path, rule, problem)
        else:
            yield from self._cost_errors("messageExpression", program.cost, path)

    def _cost_errors(self, subject: str, cost: int, path: str) -> Iterator[FieldError]:
        if self.cheap and cost > RULE_LIMIT:
            yield forbidden(path, _too_costly(f"estimated {subject} cost", cost, RULE_LIMIT))
        self.costs.add(cost, path)


_NO_TYPES: Final = (
    "internal error: failed to construct type information for x-kubernetes-validations rules: "
    "unable to convert structural schema to CEL declarations"
)
_BELOW: Final = frozenset(("properties", "additionalProperties", "items"))


def _child_places(place: _Place, *, of_variable: bool) -> Iterator[_Place]:
    """Yield the child nodes in kube-apiserver's order: additional properties first."""
    schema, path = place.schema, place.path
    times = _times(place.times, schema)
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        yield _Place(more, f"{path}.additionalProperties", times, place.unmatched)
    for name, subschema in (schema.get("properties") or {}).items():
        yield _Place(subschema, f"{path}.properties[{name}]", times, place.unmatched)
    items = schema.get("items")
    if isinstance(items, dict):
        loose = schema.get("x-kubernetes-list-type") != "map"
        where = f"{path}.items" if of_variable else path
        unmatched = place.unmatched or (where if loose else "")
        yield _Place(items, f"{path}.items", times, unmatched)


def _old_errors(place: _Place, rule: Document, path: str, *, uses: bool) -> Iterator[FieldError]:
    """Yield the errors of a rule's use of `oldSelf`. uses: the rule refers to it."""
    if uses and place.unmatched:
        text = "oldSelf cannot be used on the uncorrelatable portion of the schema within"
        yield invalid(f"{path}.rule", rule.get("rule") or "", f"{text} {place.unmatched}")
    elif not uses and rule.get("optionalOldSelf") is not None:
        text = "may not be set if oldSelf is not used in rule"
        yield invalid(f"{path}.optionalOldSelf", rule["optionalOldSelf"], text)


def _times(times: int | None, schema: Document) -> int | None:
    """Return how often the members of a node can occur in an object, given how often the node can;
    None if unlimited.
    """
    match schema.get("type"):
        case "object" if schema.get("additionalProperties") is not None:
            most = schema.get("maxProperties")
        case "array":
            most = schema.get("maxItems")
        case _:
            return times
    return None if times is None or most is None else times * max(0, most)


def _compile(
    source: str, names: dict[str, Type], expected: str, otherwise: str, prefix: str = ""
) -> tuple[Program | None, str]:
    """Return the program of an expression, or None and the error."""
    cost.current().charge(_CHARACTER * len(source))
    try:
        program = compile_expression(source, names)
    except CompileError as error:
        return None, f"{prefix}compilation failed: {error}"
    if program.type.name not in (expected, "dyn"):
        return None, otherwise
    return program, ""


def _too_costly(subject: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        result = "more than 100x"
    elif factor < 1.5:
        result = f"{factor:f}x"
    else:
        result = f"{factor:.1f}x"
    return f"{subject} exceeds budget by factor of {result} {_ADVICE}"


def _text_errors(schema: Document, path: str) -> Iterator[FieldError]:
    for child in _child_places(_Place(schema, path), of_variable=True):
        yield from _text_errors(child.schema, child.path)
    for index, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        yield from _rule_text_errors(schema, rule, f"{path}.x-kubernetes-validations[{index}]")


def _rule_text_errors(schema: Document, rule: Document, where: str) -> Iterator[FieldError]:
    yield from _message_errors(rule, where)
    expression = rule.get("messageExpression") or ""
    if expression and not expression.strip():
        text = "messageExpression must be non-empty if specified"
        yield required(f"{where}.messageExpression", text)
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        words = ", ".join(json.dumps(item) for item in _REASONS)
        text = f"supported values: {words}"
        yield FieldError("FieldValueNotSupported", f"{where}.reason", text, reason)
    path = rule.get("fieldPath") or ""
    if path and not path.strip():
        yield invalid(f"{where}.fieldPath", path, "fieldPath must be non-empty if specified")
    if _BREAK.search(path):
        yield invalid(f"{where}.fieldPath", path, "fieldPath must not contain line breaks")
    if path:
        try:
            field_at(schema, path)
        except FieldPathError as error:
            text = f"fieldPath must be a valid path: {error}"
            yield invalid(f"{where}.fieldPath", path, text)


def _message_errors(rule: Document, where: str) -> Iterator[FieldError]:
    source, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    if not source:
        yield required(f"{where}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid(f"{where}.message", message, "message must be non-empty if specified")
    elif len(message.encode()) > _MAX_LENGTH:
        text = f"message must have a maximum length of {_MAX_LENGTH} characters"
        yield invalid(f"{where}.message", message[:10] + "...", text)
    elif _BREAK.search(message.strip()):
        yield invalid(f"{where}.message", message, "message must not contain line breaks")
    elif _BREAK.search(source) and not message.strip():
        text = "message must be specified if rule contains line breaks"
        yield required(f"{where}.message", text)


def _invalid_rule(path: str, rule: Document, problem: str) -> FieldError:
    """Return the error of an invalid rule; the message shows the rule as Go prints it, with its
    fields in Go's order.
    """
    fields = {
        "Rule": rule.get("rule") or "",
        "Message": rule.get("message") or "",
        "MessageExpression": rule.get("messageExpression") or "",
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    return invalid(path, FixedText.of(fields), problem)
