"""Defaults of structural schemas."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kapy.kube.schema import Structural

SPEC: dict[str, Any] = {
    "type": "object",
    "default": {},
    "properties": {
        "text": {"type": "string", "default": "hello"},
        "maybe": {"type": "string", "default": "x", "nullable": True},
        "plain": {"type": "string"},
        "whole": {
            "type": "object",
            "default": {"x": 1},
            "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 2}},
        },
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string", "default": "unnamed"}},
            },
        },
        "map": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {"size": {"type": "integer", "default": 1}},
            },
        },
        "words": {"type": "object", "additionalProperties": {"type": "string"}},
        "any": {"x-kubernetes-preserve-unknown-fields": True},
    },
}
STRUCTURAL = Structural.compile({"type": "object", "properties": {"spec": SPEC}})
FULL = {"text": "hello", "maybe": "x", "whole": {"x": 1, "y": 2}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, FULL),
        ({"text": None, "maybe": None, "plain": None}, FULL | {"maybe": None}),
        ({"text": "", "whole": {}}, FULL | {"text": "", "whole": {"y": 2}}),
        ({"whole": {"x": 5}}, FULL | {"whole": {"x": 5, "y": 2}}),
        ({"items": [{}, {"name": "n"}]}, FULL | {"items": [{"name": "unnamed"}, {"name": "n"}]}),
        (
            {"map": {"a": {}, "b": {"size": 2}}},
            FULL | {"map": {"a": {"size": 1}, "b": {"size": 2}}},
        ),
        ({"words": {"a": None, "b": "c"}}, FULL | {"words": {"b": "c"}}),
        ({"any": [None, {"a": None}]}, FULL | {"any": [None, {"a": None}]}),
        ({"unknown": None}, FULL | {"unknown": None}),
    ],
)
def test_defaults_are_filled_in_and_nulls_dropped(spec: Any, expected: Any) -> None:
    assert STRUCTURAL.default({"spec": spec})["spec"] == expected


@pytest.mark.parametrize("document", [{}, {"spec": None}])
def test_a_default_has_defaults_too(document: Any) -> None:
    assert STRUCTURAL.default(document)["spec"] == FULL


def test_a_document_with_all_defaults_is_returned_itself() -> None:
    document = STRUCTURAL.default({"spec": {"items": [{}]}, "metadata": {"labels": None}})
    assert STRUCTURAL.default(document) is document


def test_the_argument_is_not_changed() -> None:
    document: dict[str, Any] = {"spec": {"items": [{}], "text": None}}
    STRUCTURAL.default(document)
    assert document == {"spec": {"items": [{}], "text": None}}


def test_parts_shared_with_a_settled_document_are_not_visited() -> None:
    settled = STRUCTURAL.default({"spec": {"map": {"a": {}}}})
    unsettled: Any = {"kept": "as it is"}
    shared = {**settled, "spec": {**settled["spec"], "map": unsettled}}
    assert STRUCTURAL.default(shared, shared) is shared
    assert STRUCTURAL.default({**shared}, shared)["spec"]["map"] is unsettled


def test_parts_that_equal_those_of_a_settled_document_are_shared_with_it() -> None:
    settled = STRUCTURAL.default({"spec": {"map": {"a": {}}, "items": [{}, {"name": "n"}]}})
    sent = copy.deepcopy(settled)
    assert STRUCTURAL.default(sent, settled) is settled
    sent["spec"]["items"][1]["name"] = "m"
    result = STRUCTURAL.default(sent, settled)
    assert result["spec"]["map"] is settled["spec"]["map"]
    assert result["spec"]["items"][0] is settled["spec"]["items"][0]
    assert result["spec"]["items"][1] == {"name": "m"}


def test_a_converted_object_loses_nulls_that_are_not_nullable() -> None:
    maybe = {"spec": {"maybe": None}}
    assert STRUCTURAL.without_nulls(maybe) is maybe
    assert STRUCTURAL.without_nulls({"spec": {"plain": None, **maybe["spec"]}}) == maybe


def test_nulls_from_an_apply_are_kept() -> None:
    document = STRUCTURAL.default({"spec": {"plain": None, "text": None}}, keep_nulls=True)
    assert document["spec"] == FULL | {"plain": None}


@pytest.mark.parametrize(
    ("change", "settled"),
    [
        ({"metadata": {"name": "b"}}, True),
        ({}, False),
        ({"metadata": {"name": "b"}, "spec": {"a": "x"}}, False),
        ({"metadata": {"name": "b"}, "status": None}, False),
        ({"metadata": {"name": "b"}, "other": 1}, False),
    ],
)
def test_a_change_of_metadata_alone_causes_no_defaulting(change: Any, settled: bool) -> None:
    text = {"type": "string"}
    spec = {"type": "object", "properties": {"a": text}}
    schema = Structural.compile({"type": "object", "properties": {"spec": spec}})
    before = {"metadata": {"name": "a"}, "spec": {"a": "x"}}
    after = {**before, **change}
    assert schema.is_settled(after, before) is settled
    assert schema.is_settled({"metadata": {"name": "b"}}, before) is False
    if settled:
        assert schema.default(after, before) is after
        assert schema.prune(after, before) == (after, [])


def test_a_default_that_came_later_is_filled_in() -> None:
    later = {"type": "object", "properties": {"mode": {"type": "string", "default": "a"}}}
    schema = Structural.compile(later)
    before = {"metadata": {"name": "a"}}
    assert not schema.is_settled({"metadata": {"name": "b"}}, before)
