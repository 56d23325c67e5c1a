"""The variables of a class, inline ones and those of extensions, in its status."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.api.cluster_class_variables import ClusterClassVariable
from kapy.kube.model import decode, encode
from kapy.topology.discovery import status_variables


def variable(name: str, schema: dict[str, Any], *, required: bool = False) -> ClusterClassVariable:
    document = {"name": name, "required": required, "schema": {"openAPIV3Schema": schema}}
    return decode(document, ClusterClassVariable)


def test_variables_stand_by_name_each_with_where_it_comes_from() -> None:
    inline = [variable("size", {"type": "integer"}), variable("city", {"type": "string"})]
    variables = status_variables(inline, {"patch": [variable("age", {"type": "integer"})]})
    assert [
        (status_variable.name, [definition.from_ for definition in status_variable.definitions])
        for status_variable in variables
    ] == [
        ("age", ["patch"]),
        ("city", ["inline"]),
        ("size", ["inline"]),
    ]
    assert not any(status_variable.definitions_conflict for status_variable in variables)
    assert encode(variables[1].definitions[0])["from"] == "inline"


STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("other", "conflict"),
    [
        (variable("v", STRING), False),
        (variable("v", {**STRING, "x-kubernetes-int-or-string": False}), False),
        (variable("v", {**STRING, "uniqueItems": False}), False),
        (variable("v", {**STRING, "uniqueItems": True}), True),
        (variable("v", {**STRING, "maxLength": 3}), True),
        (variable("v", STRING, required=True), True),
    ],
)
def test_definitions_of_one_variable_agree_or_conflict(
    other: ClusterClassVariable, *, conflict: bool
) -> None:
    (status_variable,) = status_variables([variable("v", STRING)], {"patch": [other]})
    assert [definition.from_ for definition in status_variable.definitions] == ["inline", "patch"]
    assert status_variable.definitions_conflict is conflict


def test_a_conflict_of_definitions_stays() -> None:
    others = {"a": [variable("v", {"type": "number"})], "b": [variable("v", STRING)]}
    (status_variable,) = status_variables([variable("v", STRING)], others)
    assert status_variable.definitions_conflict
    assert len(status_variable.definitions) == 3
