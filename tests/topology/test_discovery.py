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
    found = status_variables(inline, {"patch": [variable("age", {"type": "integer"})]})
    assert [(one.name, [each.from_ for each in one.definitions]) for one in found] == [
        ("age", ["patch"]),
        ("city", ["inline"]),
        ("size", ["inline"]),
    ]
    assert not any(one.definitions_conflict for one in found)
    assert encode(found[1].definitions[0])["from"] == "inline"


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
    (found,) = status_variables([variable("v", STRING)], {"patch": [other]})
    assert [one.from_ for one in found.definitions] == ["inline", "patch"]
    assert found.definitions_conflict is conflict


def test_a_conflict_stays_whatever_comes_after() -> None:
    others = {"a": [variable("v", {"type": "number"})], "b": [variable("v", STRING)]}
    (found,) = status_variables([variable("v", STRING)], others)
    assert found.definitions_conflict
    assert len(found.definitions) == 3
