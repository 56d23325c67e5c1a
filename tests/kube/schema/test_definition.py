"""Schemas that may not stand in a CustomResourceDefinition."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube.schema import schema_errors, unknown_formats

STRING = {"type": "string"}
OBJECT = {"type": "object"}
EITHER = [{"type": "integer"}, {"type": "string"}]


def errors_of(schema: Any) -> list[str]:
    return [str(error) for error in schema_errors(schema, "s")]


@pytest.mark.parametrize(
    ("schema", "errors"),
    [
        ({}, ["s.type: Required value: must not be empty at the root"]),
        (STRING, ['s.type: Invalid value: "string": must be object at the root']),
        (
            {"type": "object", "additionalProperties": STRING},
            ["s.additionalProperties: Forbidden: must not be used at the root"],
        ),
        (
            {
                "type": "object",
                "properties": {"metadata": {"type": "object", "properties": {"x": {}}}},
            },
            [
                "s.properties[metadata].properties[x].type: Required value: must not be empty for "
                "specified object fields",
                "s.properties[metadata]: Forbidden: must not specify anything other than name and "
                "generateName, but metadata is implicitly specified",
            ],
        ),
    ],
)
def test_a_root_is_an_object(schema: Any, errors: list[str]) -> None:
    assert errors_of(schema) == errors


@pytest.mark.parametrize(
    ("field", "errors"),
    [
        ({}, [".type: Required value: must not be empty for specified object fields"]),
        (
            {"type": "text"},
            [
                '.type: Unsupported value: "text": supported values: "array", "boolean", '
                '"integer", "number", "object", "string"'
            ],
        ),
        ({"type": "array"}, [".items: Required value: must be specified"]),
        (
            {"type": "array", "items": {}},
            [".items.type: Required value: must not be empty for specified array items"],
        ),
        (
            {**STRING, "anyOf": [STRING]},
            [".anyOf[0].type: Forbidden: must be empty to be structural"],
        ),
        (
            {**STRING, "not": {"default": "x"}},
            [".not.default: Forbidden: must be undefined to be structural"],
        ),
        (
            {"type": "object", "properties": {"a": STRING}, "additionalProperties": STRING},
            [
                ".additionalProperties: Forbidden: additionalProperties and properties are mutual "
                "exclusive"
            ],
        ),
        (
            {**STRING, "pattern": "("},
            [
                '.pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: '
                "error parsing regexp: missing closing ): `(`"
            ],
        ),
        (
            {**STRING, "x-kubernetes-preserve-unknown-fields": False},
            [
                ".x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true "
                "or undefined"
            ],
        ),
        (
            {"type": "array", "items": STRING, "x-kubernetes-list-type": "map"},
            [
                ".x-kubernetes-list-map-keys: Required value: must not be empty if "
                "x-kubernetes-list-type is map",
                '.items.type: Invalid value: "string": must be object if parent array\'s '
                "x-kubernetes-list-type is map",
            ],
        ),
        (
            {**STRING, "default": 5},
            ['.default: Invalid value: "integer":  in body must be of type string: "integer"'],
        ),
        (
            {"type": "object", "default": {"b": 1}, "properties": {"a": STRING}},
            ['.default: Invalid value: {"b":1}: must not have unknown fields'],
        ),
        (
            {"type": "object", "default": {"a": 1}, "properties": {"a": STRING}},
            ['.default.a: Invalid value: "integer": a in body must be of type string: "integer"'],
        ),
    ],
)
def test_a_field_that_is_not_structural_is_reported(field: Any, errors: list[str]) -> None:
    schema = {"type": "object", "properties": {"f": field}}
    assert errors_of(schema) == [f"s.properties[f]{error}" for error in errors]


@pytest.mark.parametrize(
    "field",
    [
        STRING,
        {"x-kubernetes-int-or-string": True, "anyOf": EITHER},
        {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": EITHER}, {"pattern": "^a"}]},
        {"x-kubernetes-preserve-unknown-fields": True},
        {**STRING, "default": "x", "anyOf": [{"enum": ["x"]}, {"minLength": 9}]},
        {"type": "object", "additionalProperties": {"type": "array", "items": STRING}},
    ],
)
def test_a_structural_field_is_accepted(field: Any) -> None:
    assert errors_of({"type": "object", "properties": {"f": field}}) == []


def test_unchecked_formats_are_reported() -> None:
    inner = {"type": "array", "items": {**STRING, "format": "funny"}}
    number = {"type": "integer", "format": "int64"}
    schema = {"type": "object", "properties": {"a": inner, "b": number, "c": {"format": "date"}}}
    assert unknown_formats(schema) == ["funny"]
