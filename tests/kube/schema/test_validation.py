"""kube-apiserver's errors for values that violate their schema."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube import Document
from kapy.kube.field_errors import invalid
from kapy.kube.schema import CheckedValue, Findings, Rules, Structural


def errors_of(schema: Document, value: Any, old: Any = ...) -> list[str]:
    """Return the errors of the value of `spec.f`, with the schema of `f`."""
    spec = {"type": "object", "properties": {"f": schema}}
    structural = Structural.compile({"type": "object", "properties": {"spec": spec}})
    before = None if old is ... else {"metadata": {"generation": 1}, "spec": {"f": old}}
    new = {"metadata": {"generation": 2}, "spec": {"f": value}}
    return [str(error) for error in structural.validate(new, before)]


STRING = {"type": "string"}
INT32 = {"type": "integer", "format": "int32"}
EITHER = {"x-kubernetes-int-or-string": True}
NEEDS = {"type": "object", "properties": {"a": STRING, "b": STRING}}


@pytest.mark.parametrize(
    ("schema", "value", "errors"),
    [
        (STRING, "x", []),
        (STRING, 5, ['Invalid value: "integer": spec.f in body must be of type string: "integer"']),
        (STRING, None, ['Invalid value: "null": spec.f in body must be of type string: "null"']),
        ({**STRING, "nullable": True}, None, []),
        (
            {"type": "integer"},
            True,
            ['Invalid value: "boolean": spec.f in body must be of type integer: "boolean"'],
        ),
        ({"type": "integer"}, 3.0, []),
        ({"type": "number"}, 3, []),
        (
            {"type": "boolean"},
            1,
            ['Invalid value: "integer": spec.f in body must be of type boolean: "integer"'],
        ),
        (
            {"type": "array"},
            {},
            ['Invalid value: "object": spec.f in body must be of type array: "object"'],
        ),
        (
            {"type": "object"},
            [],
            ['Invalid value: "array": spec.f in body must be of type object: "array"'],
        ),
        (EITHER, 80, []),
        (EITHER, "80%", []),
        (
            EITHER,
            1.5,
            ['Invalid value: "number": spec.f in body must be of type integer,string: "number"'],
        ),
        (
            {**STRING, "enum": ["b", "a"]},
            "c",
            ['Unsupported value: "c": supported values: "b", "a"'],
        ),
        (
            {"type": "integer", "enum": [1, 2]},
            3,
            ['Unsupported value: 3: supported values: "1", "2"'],
        ),
        ({**STRING, "maxLength": 2}, "abc", ["Too long: may not be more than 2 bytes"]),
        (
            {**STRING, "minLength": 2, "pattern": "^b"},
            "a",
            ['Invalid value: "a": spec.f in body should be at least 2 chars long'],
        ),
        (
            {**STRING, "pattern": "^b$"},
            "a",
            ["Invalid value: \"a\": spec.f in body should match '^b$'"],
        ),
        (
            {**STRING, "format": "date-time"},
            "today",
            ['Invalid value: "today": spec.f in body must be of type date-time: "today"'],
        ),
        ({**STRING, "format": "no-such-format"}, "x", []),
        (
            {"type": "integer", "maximum": 5},
            6,
            ["Invalid value: 6: spec.f in body should be less than or equal to 5"],
        ),
        (
            {"type": "integer", "maximum": 5, "exclusiveMaximum": True},
            5,
            ["Invalid value: 5: spec.f in body should be less than 5"],
        ),
        (
            {"type": "number", "minimum": 0.5},
            0.25,
            ["Invalid value: 0.25: spec.f in body should be greater than or equal to 0.5"],
        ),
        (
            {"type": "number", "minimum": 0, "exclusiveMinimum": True},
            0,
            ["Invalid value: 0: spec.f in body should be greater than 0"],
        ),
        (
            {"type": "integer", "multipleOf": 2},
            3,
            ["Invalid value: 3: spec.f in body should be a multiple of 2"],
        ),
        ({"type": "number", "multipleOf": 0.1}, 0.3, []),
        (
            {"type": "array", "minItems": 1},
            [],
            ["Invalid value: 0: spec.f in body should have at least 1 items"],
        ),
        ({"type": "array", "maxItems": 1}, [1, 2], ["Too many: 2: must have at most 1 items"]),
        (
            {"type": "object", "minProperties": 1},
            {},
            ["Invalid value: 0: spec.f in body should have at least 1 properties"],
        ),
        (
            {"type": "object", "maxProperties": 0},
            {"a": 1},
            ["Too many: 1: must have at most 0 items"],
        ),
    ],
)
def test_a_value_is_checked(schema: Document, value: Any, errors: list[str]) -> None:
    assert errors_of(schema, value) == [f"spec.f: {error}" for error in errors]


def test_an_integer_must_fit_its_format() -> None:
    assert errors_of(INT32, 1 << 31) == [
        '<nil>: Invalid value: "": Checked value must be of type integer with format int32 '
        "in spec.f"
    ]
    assert errors_of(INT32, 1.5) == [
        'spec.f: Invalid value: "float64": spec.f in body must be of type int32: "float64"',
        '<nil>: Invalid value: "": Checked value must be of type integer with format int32 '
        "in spec.f",
    ]


def test_errors_of_items_and_members_name_them() -> None:
    schema = {
        "type": "array",
        "items": {"type": "object", "required": ["a"], "properties": {"a": STRING}},
    }
    assert errors_of(schema, [{"a": "x"}, {}, {"a": 1}]) == [
        "spec.f[1].a: Required value",
        'spec.f[2].a: Invalid value: "integer": spec.f[2].a in body must be of type string: '
        '"integer"',
    ]
    words = {"type": "object", "additionalProperties": {**STRING, "enum": ["x"]}}
    assert errors_of(words, {"k": "y"}) == [
        'spec.f.k: Unsupported value: "y": supported values: "x"'
    ]


@pytest.mark.parametrize(
    ("junctor", "value", "errors"),
    [
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": "x"}, []),
        (
            {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {},
            [
                '<nil>: Invalid value: "": "spec.f" must validate one and only one schema (oneOf). '
                "Found none valid",
                "spec.f.a: Required value",
            ],
        ),
        (
            {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": "x", "b": "x"},
            [
                '<nil>: Invalid value: "": "spec.f" must validate one and only one schema (oneOf). '
                "Found 2 valid alternatives",
            ],
        ),
        (
            {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {},
            [
                '<nil>: Invalid value: "": "spec.f" must validate at least one schema (anyOf)',
                "spec.f.a: Required value",
            ],
        ),
        (
            {"allOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": "x"},
            [
                '<nil>: Invalid value: "": "spec.f" must validate all the schemas (allOf)',
                "spec.f.b: Required value",
            ],
        ),
        (
            {"required": ["b"], "allOf": [{"required": ["b"]}, {"required": ["b"]}]},
            {"a": "x"},
            [
                '<nil>: Invalid value: "": "spec.f" must validate all the schemas (allOf). '
                "None validated",
                "spec.f.b: Required value",
            ],
        ),
        (
            {"not": {"required": ["a"]}},
            {"a": "x"},
            [
                '<nil>: Invalid value: "": "spec.f" must not validate the schema (not)',
            ],
        ),
    ],
)
def test_schemas_can_be_joined(junctor: Document, value: Any, errors: list[str]) -> None:
    assert errors_of({**NEEDS, **junctor}, value) == errors


SET = {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"}
KEYED = {
    "type": "array",
    "items": {"type": "object", "properties": {"k": STRING, "v": {**STRING, "maxLength": 2}}},
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
}


@pytest.mark.parametrize(
    ("schema", "value", "errors"),
    [
        (SET, ["a", "b"], []),
        (
            SET,
            ["a", "b", "a", "b", "b"],
            ['spec.f[2]: Duplicate value: "a"', 'spec.f[3]: Duplicate value: "b"'],
        ),
        ({**SET, "items": {"type": "integer"}}, [1, 2, 1], ["spec.f[2]: Duplicate value: 1"]),
        (
            KEYED,
            [{"k": "a"}, {"k": "b"}, {"k": "a", "v": "z"}],
            ['spec.f[2]: Duplicate value: {"k":"a"}'],
        ),
    ],
)
def test_items_of_sets_and_maps_are_unique(schema: Document, value: Any, errors: list[str]) -> None:
    assert errors_of(schema, value) == errors
    assert errors_of(schema, [*value, value[0]], [*value, value[0]]) == []


@pytest.mark.parametrize(
    ("schema", "old", "new", "errors"),
    [
        ({**STRING, "enum": ["x"]}, "q", "q", 0),
        ({**STRING, "enum": ["x"]}, "q", "r", 1),
        ({**NEEDS, "required": ["b"]}, {"a": "1"}, {"a": "1"}, 0),
        ({**NEEDS, "required": ["b"]}, {"a": "1"}, {"a": "2"}, 1),
        (KEYED, [{"k": "a", "v": "long"}], [{"k": "b"}, {"k": "a", "v": "long"}], 0),
        (KEYED, [{"k": "a", "v": "long"}], [{"k": "b", "v": "long"}], 1),
        ({"type": "array", "items": {**STRING, "maxLength": 2}}, ["long"], ["long", "a"], 1),
        ({"type": "integer"}, True, 1, 0),
        ({"type": "integer"}, 1, True, 1),
    ],
)
def test_unchanged_invalid_values_are_accepted(
    schema: Document, old: Any, new: Any, errors: int
) -> None:
    assert len(errors_of(schema, new, old)) == errors


def test_an_embedded_object_needs_a_type() -> None:
    schema = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    assert errors_of(schema, {"apiVersion": "v1", "kind": "ConfigMap"}) == []
    assert errors_of(schema, {}) == [
        "spec.f.apiVersion: Required value",
        "spec.f.kind: Required value",
    ]
    assert errors_of(schema, {"apiVersion": "a/b/c", "kind": "X"}) == [
        'spec.f.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'
    ]


def under(limit: int) -> Rules:
    def check(checked: CheckedValue, findings: Findings) -> None:
        if checked.value >= limit:
            where = findings.warnings if checked.unchanged else findings.errors
            text = f"must be under {limit} (was {checked.old})"
            where.append(invalid(checked.path, checked.value, text))

    return check


def rules_under_five(schema: Document, *, root: bool) -> Rules:
    return under(5)


def ruled() -> Structural:
    number = {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 5"}]}
    spec = {"type": "object", "properties": {"n": number, "s": {**STRING, "enum": ["x"]}}}
    return Structural.compile(
        {"type": "object", "properties": {"spec": spec}}, rules=rules_under_five
    )


def test_rules_are_checked_at_their_level_of_the_schema() -> None:
    errors = ruled().validate({"spec": {"n": 7}}, {"spec": {"n": 6}})
    assert [str(error) for error in errors] == ["spec.n: Invalid value: 7: must be under 5 (was 6)"]


def test_unchanged_values_that_break_a_rule_cause_warnings() -> None:
    warnings: list[str] = []
    new: Document = {"spec": {"n": 7, "s": "x"}}
    assert ruled().validate(new, {"spec": {"n": 7}}, warnings) == []
    assert warnings == ["spec.n: Invalid value: 7: must be under 5 (was 7)"]


def test_rules_are_not_checked_on_an_object_that_breaks_its_schema() -> None:
    errors = ruled().validate({"spec": {"n": 7, "s": "y"}})
    assert [error.detail for error in errors][1:] == [
        "some validation rules were not checked because the object was invalid; "
        "correct the existing errors to complete validation"
    ]
