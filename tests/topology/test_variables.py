"""Values of variables (what upstream recorded of them is in the oracle's topic `variables`)."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.api.cluster_class_variables import ClusterClassStatusVariable
from kapy.api.embedded import ClusterVariable
from kapy.kube import Document
from kapy.kube.model import decode
from kapy.topology.variables import default_variables, variable_value_errors

PATH = "spec.topology.variables"


def defined(name: str, schema: Document, *, required: bool = False) -> ClusterClassStatusVariable:
    entry = {"from": "inline", "required": required, "schema": {"openAPIV3Schema": schema}}
    return decode({"name": name, "definitions": [entry]}, ClusterClassStatusVariable)


DEFINED = [
    defined("cpu", {"type": "integer", "minimum": 1, "default": 2}),
    defined("region", {"type": "string", "enum": ["eu", "us"]}, required=True),
    defined(
        "sizes",
        {
            "type": "object",
            "properties": {"min": {"type": "integer"}, "max": {"type": "integer", "default": 9}},
            "x-kubernetes-validations": [
                {"rule": "self.min <= self.max", "message": "min is too large"},
                {"rule": "self.min >= oldSelf.min", "message": "min shrinks"},
            ],
        },
    ),
]


def values(**by_name: Any) -> list[ClusterVariable]:
    return [ClusterVariable(name=name, value=value) for name, value in by_name.items()]


def test_defaults_do_not_replace_values() -> None:
    variables, errors = default_variables(
        values(sizes={"min": 1}, region="eu"), DEFINED, PATH, create=True
    )
    assert errors == []
    assert [(variable.name, variable.value) for variable in variables] == [
        ("sizes", {"min": 1, "max": 9}),
        ("region", "eu"),
        ("cpu", 2),
    ]


def test_values_without_an_override_have_none() -> None:
    variables, errors = default_variables([], DEFINED, PATH, create=False)
    assert (variables, errors) == ([], [])


@pytest.mark.parametrize(
    ("values_given", "expected"),
    [
        ({"region": "eu"}, []),
        ({}, [("Required", PATH, "must be set")]),
        ({"region": "mars"}, [("NotSupported", f"{PATH}[region].value", "supported values")]),
        ({"region": "eu", "cpu": 0}, [("Invalid", f"{PATH}[cpu].value", "greater than")]),
        ({"region": "eu", "x": 1}, [("Invalid", f"{PATH}[x]", "is not defined")]),
        (
            {"region": "eu", "sizes": {"min": 1, "max": 2, "mid": 3}},
            [("Invalid", f"{PATH}[sizes]", '"mid" field(s) are not specified')],
        ),
        (
            {"region": "eu", "sizes": {"min": 3, "max": 2}},
            [("Invalid", f"{PATH}[sizes].value", "min is too large")],
        ),
        (
            {"region": "eu", "sizes": {"min": 0, "max": 2}},
            [("Invalid", f"{PATH}[sizes].value", "min shrinks")],
        ),
    ],
)
def test_values_keep_to_their_definitions(
    values_given: dict[str, Any], expected: list[tuple[str, str, str]]
) -> None:
    old = values(sizes={"min": 1, "max": 2})
    errors = variable_value_errors(values(**values_given), old, DEFINED, PATH, complete=True)
    assert [(field_error.type, field_error.field) for field_error in errors] == [
        (f"FieldValue{type_}", field) for type_, field, _ in expected
    ]
    for error, (_, _, words) in zip(errors, expected, strict=True):
        assert words in error.detail


def test_conflicting_definitions_give_no_values() -> None:
    torn = defined("cpu", {"type": "integer"})
    torn.definitions_conflict = True
    variables, errors = default_variables(values(cpu=1), [torn], PATH, create=True)
    assert variables == []
    assert ["conflicting definitions" in error.detail for error in errors] == [True]


def test_a_variable_is_set_once_in_the_old_values_too() -> None:
    twice = [ClusterVariable(name="cpu", value=1), ClusterVariable(name="cpu", value=2)]
    missing = decode({"name": "cpu", "definitions": []}, ClusterClassStatusVariable)
    errors = default_variables(twice, [missing], PATH, create=True)[1]
    errors += variable_value_errors([], twice, [missing], PATH, complete=False)
    assert [error.detail for error in errors] == ['variable "cpu" is set more than once'] * 2


def test_names_are_quoted_as_in_go_and_problems_reported_once() -> None:
    missing = decode({"name": "\\", "definitions": []}, ClusterClassStatusVariable)
    errors = default_variables([], [missing, missing], PATH, create=True)[1]
    assert [error.detail.rpartition("valid: ")[2] for error in errors] == [
        'variable "\\\\" has no definitions'
    ]


def test_rules_of_a_value_without_a_type_are_not_run() -> None:
    rules = [{"rule": "self.nothing > 3"}]
    loose = defined("any", {"x-kubernetes-validations": rules})
    assert variable_value_errors(values(any=1), [], [loose], PATH, complete=True) == []
