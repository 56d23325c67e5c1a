"""The fields in which two values differ."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kapy.kube.apply.comparison import changes
from kapy.kube.apply.types import type_of_schema
from tests.kube.apply.shapes import SPEC

TYPE = type_of_schema(SPEC)
A, B = {"name": "a", "value": "1"}, {"name": "b"}


@pytest.mark.parametrize(
    ("old", "new", "changed", "removed"),
    [
        ({"name": "x"}, {"name": "y"}, {"f:name": {}}, None),
        ({"name": "x"}, {"count": 1}, {"f:count": {}}, {"f:name": {}}),
        ({"count": 1}, {"count": 1.0}, None, None),
        ({"amount": 1}, {"amount": "1"}, {"f:amount": {}}, None),
        ({"flag": True}, {"flag": 1}, {"f:flag": {}}, None),
        (
            {},
            {"nested": {"left": {"a": "1"}}},
            {"f:nested": {".": {}, "f:left": {".": {}, "f:a": {}}}},
            None,
        ),
        ({}, {"nested": {}}, {"f:nested": {}}, None),
        (
            {"nested": {"left": {"a": "1"}}},
            {"nested": {"left": {}}},
            None,
            {"f:nested": {"f:left": {"f:a": {}}}},
        ),
        ({"nested": None}, {"nested": {"left": {}}}, {"f:nested": {"f:left": {}}}, None),
        ({"nested": None}, {"nested": {}}, {"f:nested": {}}, None),
        (
            {"labels": {"a": "1"}},
            {"labels": {"a": "2", "b": "1"}},
            {"f:labels": {"f:a": {}, "f:b": {}}},
            None,
        ),
        ({"atom": {"a": "1"}}, {"atom": {"a": "2"}}, {"f:atom": {}}, None),
        ({"words": ["a"]}, {"words": ["a", "b"]}, {"f:words": {}}, None),
        (
            {"tags": ["a", "b"]},
            {"tags": ["b", "c"]},
            {"f:tags": {'v:"c"': {}}},
            {"f:tags": {'v:"a"': {}}},
        ),
        ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, None, None),
        ({"tags": []}, {}, None, {"f:tags": {}}),
        (
            {"byName": [A, B]},
            {"byName": [B, {**A, "value": "2"}]},
            {"f:byName": {'k:{"name":"a"}': {"f:value": {}}}},
            None,
        ),
        (
            {"byName": [A]},
            {"byName": [A, B]},
            {"f:byName": {'k:{"name":"b"}': {".": {}, "f:name": {}}}},
            None,
        ),
        (
            {"byName": [A]},
            {"byName": [{"name": "a"}]},
            None,
            {"f:byName": {'k:{"name":"a"}': {"f:value": {}}}},
        ),
        (
            {"byPort": [{"port": 1}]},
            {"byPort": [{"port": 1, "protocol": "TCP"}]},
            {"f:byPort": {'k:{"port":1,"protocol":"TCP"}': {"f:protocol": {}}}},
            None,
        ),
        (
            {"tags": ["a", "a"]},
            {"tags": ["a"]},
            {"f:tags": {'v:"a"': {}}},
            {"f:tags": {'v:"a"': {}}},
        ),
        ({"loose": {"x": [1]}}, {"loose": {"x": [2]}}, {"f:loose": {"f:x": {}}}, None),
        (
            {"loose": {"x": {"y": 1}}},
            {"loose": {"x": 1}},
            {"f:loose": {"f:x": {}}},
            {"f:loose": {"f:x": {"f:y": {}}}},
        ),
        (
            {"loose": {"x": 1}},
            {"loose": {"x": {"y": 1}}},
            {"f:loose": {"f:x": {".": {}, "f:y": {}}}},
            None,
        ),
    ],
)
def test_changed_fields_of_two_values_are_found(
    old: Any, new: Any, changed: Any, removed: Any
) -> None:
    before = copy.deepcopy((old, new))
    assert changes(TYPE, old, new) == (changed, removed)
    assert (old, new) == before


def test_shared_parts_are_not_compared() -> None:
    poisoned: Any = {"left": object()}
    assert changes(TYPE, {"nested": poisoned}, {"nested": poisoned}) == (None, None)
