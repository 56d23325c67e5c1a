"""Whether rules may stand in a CustomResourceDefinition, in kube-apiserver's words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from kapy.kube import Document
from kapy.kube.cel.compiler import Program, compiled
from kapy.kube.cel.errors import CompileError
from kapy.kube.cel.rules import variables
from kapy.kube.cel.schema_types import LARGEST_REQUEST, declared
from kapy.kube.cel.types import Type
from kapy.kube.field_errors import FieldError, forbidden, invalid, required
from kapy.kube.regexp import cost
from kapy.kube.schema.definition import TOO_LARGE

RULE_LIMIT: Final = 10_000_000
"""What one rule, run as often as it can be in one object, may be estimated to cost."""

TOTAL_LIMIT: Final = 100_000_000
"""What all rules of a schema together may be estimated to cost."""

_CHARACTER: Final = 3000
"""Nanoseconds that it takes at most to compile one character of an expression."""

_LARGER: Final = 5
"""How much longer the rules of a definition may take than those of one object."""

_LONGEST: Final = 2048
_SHOWN_EXPENSIVE: Final = 4
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
_STEP: Final = re.compile(r"\.([^.\['\"]+)|\[(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\]")


@dataclass(slots=True)
class _Place:
    """A node of the schema. times: how often it can be in an object, None when nothing says.
    unmatched: the path of the list or map around it whose items have no older ones, or ""."""

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
        """Those that are a hundredth of the limit are named when it is exceeded."""
        self.total += cost
        if cost >= TOTAL_LIMIT // 100:
            self.rules.append((cost, path))


def rule_errors(
    schema: Document, path: str, *, root: bool = True, counted: str = "rule"
) -> list[FieldError]:
    """What is wrong with the rules anywhere in the schema of one version.

    path: where the schema stands (`spec.versions[0].schema.openAPIV3Schema`). root: whether it is
    the schema of a whole object. counted: what errors say that the costs of all rules are those of.
    """
    costs = _Costs()
    with cost.allowance(cost.ALLOWED * _LARGER):
        try:
            errors = list(_node_errors(_Place(schema, path, root=root), costs))
        except cost.TooCostly:
            return [forbidden(path, TOO_LARGE)]
    if costs.total > TOTAL_LIMIT:
        for _, where in sorted(costs.rules, key=lambda one: -one[0])[:_SHOWN_EXPENSIVE]:
            text = f"contributed to estimated {counted} cost total exceeding cost limit"
            errors.append(forbidden(where, f"{text} for entire OpenAPIv3 schema"))
        what = (
            f"x-kubernetes-validations estimated {counted} cost total for entire OpenAPIv3 schema"
        )
        errors.append(forbidden(path, _too_costly(what, costs.total, TOTAL_LIMIT)))
    return errors


def _node_errors(place: _Place, costs: _Costs) -> Iterator[FieldError]:
    schema = place.schema
    rules = schema.get("x-kubernetes-validations")
    if rules:
        kind = declared(schema, resource=place.root)
        for index, rule in enumerate(rules):
            where = f"{place.path}.x-kubernetes-validations[{index}]"
            yield from _rule_errors(place, rule, where, kind, costs)
    if not _BELOW.isdisjoint(schema):
        for below in _below(place):
            yield from _node_errors(below, costs)


_BELOW: Final = frozenset(("properties", "additionalProperties", "items"))


def _below(place: _Place) -> Iterator[_Place]:
    schema, path = place.schema, place.path
    for name, one in (schema.get("properties") or {}).items():
        yield _Place(one, f"{path}.properties[{name}]", place.times, place.unmatched)
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        loose = schema.get("x-kubernetes-map-type") == "atomic"
        unmatched = place.unmatched or (path if loose else "")
        times = _times(place.times, schema.get("maxProperties"))
        yield _Place(more, f"{path}.additionalProperties", times, unmatched)
    items = schema.get("items")
    if isinstance(items, dict):
        loose = schema.get("x-kubernetes-list-type") != "map"
        unmatched = place.unmatched or (path if loose else "")
        times = _times(place.times, schema.get("maxItems"))
        yield _Place(items, f"{path}.items", times, unmatched)


def _times(times: int | None, most: int | None) -> int | None:
    return None if times is None or most is None else times * max(0, most)


def _rule_errors(
    place: _Place, rule: Document, where: str, kind: Type | None, costs: _Costs
) -> Iterator[FieldError]:
    yield from _text_errors(place, rule, where)
    source = rule.get("rule") or ""
    if not source.strip():
        yield required(f"{where}.rule", "rule is not specified")
        return
    if kind is None:
        text = "rule compiler initialization error: the schema has no type"
        yield _unfit(f"{where}.rule", rule, text)
        return
    names = variables(kind, rule)
    program, problem = _compiled(source, names, "bool", "cel expression must evaluate to a bool")
    if program is None:
        yield _unfit(f"{where}.rule", rule, problem)
    else:
        yield from _cost_errors("rule", program, place, kind, f"{where}.rule", costs)
        if place.unmatched and "oldSelf" in program.uses:
            text = "oldSelf cannot be used on the uncorrelatable portion of the schema within"
            yield invalid(f"{where}.rule", source, f"{text} {place.unmatched}")
    expression = rule.get("messageExpression")
    if not expression:
        return
    at = f"{where}.messageExpression"
    wanted = "messageExpression must evaluate to a string"
    program, problem = _compiled(expression, names, "string", wanted, "messageExpression ")
    if program is None:
        yield _unfit(at, rule, problem)
    else:
        yield from _cost_errors("messageExpression", program, place, kind, at, costs)


def _compiled(
    source: str, names: dict[str, Type], wanted: str, otherwise: str, prefix: str = ""
) -> tuple[Program | None, str]:
    """The program of an expression, or what is wrong with it."""
    cost.current().charge(_CHARACTER * len(source))
    try:
        program = compiled(source, names)
    except CompileError as error:
        return None, f"{prefix}compilation failed: {error}"
    if program.type.name not in (wanted, "dyn"):
        return None, otherwise
    return program, ""


def _cost_errors(
    what: str, program: Program, place: _Place, kind: Type, where: str, costs: _Costs
) -> Iterator[FieldError]:
    times = place.times if place.times is not None else LARGEST_REQUEST // (kind.least + 1)
    cost = program.cost * times
    if cost > RULE_LIMIT:
        yield forbidden(where, _too_costly(f"estimated {what} cost", cost, RULE_LIMIT))
    costs.add(cost, where)


def _too_costly(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        shown = "more than 100x"
    elif factor < 1.5:
        shown = f"{factor:f}x"
    else:
        shown = f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {shown} {_ADVICE}"


def _text_errors(place: _Place, rule: Document, where: str) -> Iterator[FieldError]:
    message = rule.get("message") or ""
    if message and not message.strip():
        text = "message must be non-empty if specified"
        yield invalid(f"{where}.message", message, text)
    elif "\n" in message.strip():
        yield invalid(f"{where}.message", message, "must not contain line breaks")
    elif "\n" in (rule.get("rule") or "").strip() and not message:
        text = "message must be specified if rule contains line breaks"
        yield required(f"{where}.message", text)
    if len(message) > _LONGEST:
        shown = message[:10] + "..."
        text = f"message must have a maximum length of {_LONGEST} characters"
        yield invalid(f"{where}.message", shown, text)
    if rule.get("messageExpression") is not None and not rule["messageExpression"].strip():
        text = "must be non-empty if specified"
        yield required(f"{where}.messageExpression", text)
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        words = ", ".join(json.dumps(one) for one in _REASONS)
        text = f"supported values: {words}"
        yield FieldError("FieldValueNotSupported", f"{where}.reason", text, reason)
    path = rule.get("fieldPath")
    if path and not _leads(place.schema, path):
        yield invalid(f"{where}.fieldPath", path, "must be a valid path")


def _leads(schema: Document, path: str) -> bool:
    """Whether a fieldPath names something that the schema declares."""
    at = 0
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            return False
        name = found[1] or found[2] or found[3] or ""
        more = schema.get("additionalProperties")
        inner = (schema.get("properties") or {}).get(name)
        if inner is None and isinstance(more, dict):
            inner = more
        if inner is None:
            return False
        schema, at = inner, found.end()
    return True


def _unfit(where: str, rule: Document, problem: str) -> FieldError:
    """That a rule cannot stand; the message shows it as Go prints it: its fields in their order."""
    fields = {
        "Rule": rule.get("rule") or "",
        "Message": rule.get("message") or "",
        "MessageExpression": rule.get("messageExpression") or "",
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    for character, escape in _HTML.items():
        text = text.replace(character, escape)
    return FieldError("FieldValueInvalid", where, f"{text}: {problem}")


_HTML: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
