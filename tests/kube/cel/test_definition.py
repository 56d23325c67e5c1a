"""The validation of the rules of a CustomResourceDefinition, and its errors."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.api.crds import crds
from kapy.kube import Document
from kapy.kube.cel import rule_errors

STRING: Document = {"type": "string", "maxLength": 20}


def said(schema: Document) -> list[str]:
    """The errors of a schema in which `a` has the given schema, without the path to it."""
    whole = {"type": "object", "properties": {"a": schema}}
    at = "s.properties[a]"
    return [
        str(error).replace(f"{at}.x-kubernetes-validations", "")
        for error in rule_errors(whole, "s")
    ]


def with_rule(schema: Document, rule: str = "true", **more: Any) -> Document:
    return {**schema, "x-kubernetes-validations": [{"rule": rule, **more}]}


@pytest.mark.parametrize("definition", crds(), ids=lambda value: str(value["metadata"]["name"]))
def test_the_rules_of_our_own_kinds_are_good(definition: Document) -> None:
    for version in definition["spec"]["versions"]:
        assert rule_errors(version["schema"]["openAPIV3Schema"], "schema") == []


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"rule": ""}, "[0].rule: Required value: rule is not specified"),
        (
            {"message": "a\nb"},
            '[0].message: Invalid value: "a\\nb": message must not contain line breaks',
        ),
        (
            {"message": " "},
            '[0].message: Invalid value: " ": message must be non-empty if specified',
        ),
        (
            {"rule": "true\n|| false"},
            "[0].message: Required value: message must be specified if rule contains line breaks",
        ),
        (
            {"message": "m" * 3000},
            '[0].message: Invalid value: "mmmmmmmmmm...": '
            "message must have a maximum length of 2048 characters",
        ),
        (
            {"messageExpression": " "},
            "[0].messageExpression: Required value: "
            "messageExpression must be non-empty if specified",
        ),
        (
            {"reason": "Because"},
            '[0].reason: Unsupported value: "Because": supported values: "FieldValueDuplicate", '
            '"FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
        ),
        (
            {"fieldPath": ".x"},
            '[0].fieldPath: Invalid value: ".x": '
            "fieldPath must be a valid path: does not refer to a valid field",
        ),
        (
            {"fieldPath": "x", "rule": "self.nothing"},
            '[0].fieldPath: Invalid value: "x": '
            "fieldPath must be a valid path: expected [ or . but got: x",
        ),
    ],
)
def test_invalid_rules_are_refused(more: Document, error: str) -> None:
    rule = {"rule": "true", **more}
    results = said({"type": "object", "x-kubernetes-validations": [rule]})
    assert error in results


def shown(rule: str, expression: str = "", optional: str = "null") -> str:
    """A rule as Go prints it."""
    return (
        f'{{"Rule":"{rule}","Message":"","MessageExpression":"{expression}","Reason":null,'
        f'"FieldPath":"","OptionalOldSelf":{optional}}}'
    )


def test_a_rule_must_be_true_or_false() -> None:
    assert said(with_rule(STRING, "self")) == [
        f"[0].rule: Invalid value: {shown('self')}: cel expression must evaluate to a bool"
    ]


def test_a_message_must_be_a_text() -> None:
    results = said(with_rule({"type": "integer"}, "self > 0", messageExpression="self"))
    rule = shown("self \\u003e 0", "self")
    assert results == [
        f"[0].messageExpression: Invalid value: {rule}: messageExpression must evaluate to a string"
    ]


def test_a_rule_must_compile() -> None:
    assert said(with_rule({"type": "integer"}, "self == 'x'")) == [
        f"[0].rule: Invalid value: {shown(chr(115) + 'elf == ' + repr('x'))}: compilation failed: "
        "ERROR: <input>:1:6: found no matching overload for '_==_' applied to '(int, string)'\n"
        " | self == 'x'\n | .....^"
    ]


@pytest.mark.parametrize(
    ("list_type", "refused"),
    [
        ({"x-kubernetes-list-type": "atomic"}, True),
        ({"x-kubernetes-list-type": "set"}, True),
        ({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}, False),
    ],
)
def test_transition_rules_need_correlatable_values(list_type: Document, refused: bool) -> None:
    item = with_rule({"type": "object", "properties": {"k": STRING}}, "self == oldSelf")
    results = said({"type": "array", "maxItems": 5, "items": item, **list_type})
    assert bool(results) is refused
    if refused:
        assert "oldSelf cannot be used on the uncorrelatable portion" in results[0]
        assert results[0].endswith("within s.properties[a].items")


ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
    "maps, and strings are declared)"
)


def test_rules_without_a_bound_exceed_the_cost_limit() -> None:
    results = said(
        with_rule(
            {"type": "array", "items": {"type": "string"}}, "self.all(x, self.all(y, x == y))"
        )
    )
    assert results == [
        "[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x "
        f"{ADVICE}",
        "[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for "
        "entire OpenAPIv3 schema",
        "s: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 "
        f"schema exceeds budget by factor of more than 100x {ADVICE}",
    ]


def test_bounds_make_the_same_rule_cheap() -> None:
    schema: Document = {"type": "array", "maxItems": 50, "items": STRING}
    assert said(with_rule(schema, "self.all(x, self.all(y, x == y))")) == []


def test_the_cost_of_a_rule_is_multiplied_by_its_runs() -> None:
    inner = with_rule({"type": "array", "maxItems": 200, "items": STRING}, "self.all(x, x != '')")
    once = {"type": "array", "maxItems": 2, "items": inner}
    often = {"type": "array", "maxItems": 20_000, "items": inner}
    assert said(once) == []
    assert "estimated rule cost exceeds budget by factor of" in said(often)[0]
