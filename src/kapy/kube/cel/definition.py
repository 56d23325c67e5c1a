"""Whether rules may stand in a CustomResourceDefinition, in kube-apiserver's words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from kapy.kube import Document
from kapy.kube.cel.compiler import Program, compiled
from kapy.kube.cel.errors import CompileError
from kapy.kube.cel.rules import variables
from kapy.kube.cel.schema_types import LARGEST_REQUEST, declared
from kapy.kube.cel.types import Type
from kapy.kube.field_errors import FieldError, Shown, forbidden, invalid, required
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
    """What is wrong with the rules anywhere in the schema of a variable.

    path: where the schema stands. root: whether it is the schema of a whole object. counted: what
    errors say that the costs of all rules are those of.
    """
    return _Rules(path, counted=counted).errors(_Place(schema, path, root=root))


def definition_rule_errors(
    schema: Document, path: str, *, flawed: Sequence[str] = (), cheap: bool = True
) -> list[FieldError]:
    """What is wrong with the rules anywhere in the schema of one version of a definition.

    path: where the schema stands (`spec.versions[0].schema.openAPIV3Schema`). flawed: fields with
    errors; rules on the way to them are not looked at. cheap: each rule has to be cheap.
    """
    rules = _Rules(path, flawed=tuple(flawed), cheap=cheap, texts=False)
    return rules.errors(_Place(schema, path, root=True))


@dataclass(slots=True)
class _Rules:
    """One look at the rules of a schema. texts: what they say in words is looked at, too."""

    path: str
    counted: str = "rule"
    flawed: tuple[str, ...] = ()
    cheap: bool = True
    texts: bool = True
    costs: _Costs = field(default_factory=_Costs)

    def errors(self, place: _Place) -> list[FieldError]:
        """Of a node and all below."""
        with cost.allowance(cost.ALLOWED * _LARGER):
            try:
                errors = list(self._node_errors(place))
            except cost.TooCostly:
                return [forbidden(self.path, TOO_LARGE)]
        if self.costs.total > TOTAL_LIMIT:
            for _, where in sorted(self.costs.rules, key=lambda one: -one[0])[:_SHOWN_EXPENSIVE]:
                text = f"contributed to estimated {self.counted} cost total exceeding cost limit"
                errors.append(forbidden(where, f"{text} for entire OpenAPIv3 schema"))
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
            for below in _below(place):
                yield from self._node_errors(below)
        rules = schema.get("x-kubernetes-validations")
        inside = f"{place.path}."
        if not rules or any(one.startswith(inside) for one in self.flawed):
            return
        kind = declared(schema, resource=place.root)
        where = f"{place.path}.x-kubernetes-validations"
        if kind is None and not self.texts:
            yield FieldError("InternalError", where, _NO_TYPES)
            return
        for index, rule in enumerate(rules):
            yield from self._rule_errors(place, rule, f"{where}[{index}]", kind)

    def _rule_errors(
        self, place: _Place, rule: Document, where: str, kind: Type | None
    ) -> Iterator[FieldError]:
        if self.texts:
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
        wanted = "cel expression must evaluate to a bool"
        program, problem = _compiled(source, names, "bool", wanted)
        if program is None:
            yield _unfit(f"{where}.rule", rule, problem)
        else:
            times = place.times
            times = times if times is not None else LARGEST_REQUEST // (kind.least + 1)
            yield from self._cost_errors("rule", program.cost * times, f"{where}.rule")
            yield from self._message_errors(rule, names, f"{where}.messageExpression")
        yield from _old_errors(
            place, rule, where, uses="oldSelf" in program.uses if program else False
        )

    def _message_errors(
        self, rule: Document, names: dict[str, Type], where: str
    ) -> Iterator[FieldError]:
        expression = rule.get("messageExpression")
        if not expression:
            return
        wanted = "messageExpression must evaluate to a string"
        program, problem = _compiled(expression, names, "string", wanted, "messageExpression ")
        if program is None:
            yield _unfit(where, rule, problem)
        else:
            yield from self._cost_errors("messageExpression", program.cost, where)

    def _cost_errors(self, what: str, cost: int, where: str) -> Iterator[FieldError]:
        if self.cheap and cost > RULE_LIMIT:
            yield forbidden(where, _too_costly(f"estimated {what} cost", cost, RULE_LIMIT))
        self.costs.add(cost, where)


_NO_TYPES: Final = (
    "internal error: failed to construct type information for x-kubernetes-validations rules: "
    "unable to convert structural schema to CEL declarations"
)
_BELOW: Final = frozenset(("properties", "additionalProperties", "items"))


def _below(place: _Place) -> Iterator[_Place]:
    """The nodes right below, additional properties first, as kube-apiserver looks at them."""
    schema, path = place.schema, place.path
    times = _times(place.times, schema)
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        yield _Place(more, f"{path}.additionalProperties", times, place.unmatched)
    for name, one in (schema.get("properties") or {}).items():
        yield _Place(one, f"{path}.properties[{name}]", times, place.unmatched)
    items = schema.get("items")
    if isinstance(items, dict):
        loose = schema.get("x-kubernetes-list-type") != "map"
        unmatched = place.unmatched or (path if loose else "")
        yield _Place(items, f"{path}.items", times, unmatched)


def _old_errors(place: _Place, rule: Document, where: str, *, uses: bool) -> Iterator[FieldError]:
    """Of how a rule speaks of old values. uses: whether it does."""
    if uses and place.unmatched:
        text = "oldSelf cannot be used on the uncorrelatable portion of the schema within"
        yield invalid(f"{where}.rule", rule.get("rule") or "", f"{text} {place.unmatched}")
    elif not uses and rule.get("optionalOldSelf") is not None:
        text = "may not be set if oldSelf is not used in rule"
        yield invalid(f"{where}.optionalOldSelf", rule["optionalOldSelf"], text)


def _times(times: int | None, schema: Document) -> int | None:
    """How often the members of a node can be in an object, which itself can so often."""
    match schema.get("type"):
        case "object" if schema.get("additionalProperties") is not None:
            most = schema.get("maxProperties")
        case "array":
            most = schema.get("maxItems")
        case _:
            return times
    return None if times is None or most is None else times * max(0, most)


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
    return invalid(where, Shown.of(fields), problem)
