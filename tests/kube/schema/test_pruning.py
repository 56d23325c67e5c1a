"""Dropping what a schema does not know."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube.schema import Structural

CLOSED: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "closed": CLOSED,
        "items": {"type": "array", "items": CLOSED},
        "map": {"type": "object", "additionalProperties": CLOSED},
        "open": {**CLOSED, "x-kubernetes-preserve-unknown-fields": True},
        "nested": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"known": CLOSED},
        },
        "any": {"x-kubernetes-preserve-unknown-fields": True},
        "object": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"spec": CLOSED},
        },
        "list": {"type": "array", "items": {"type": "string"}},
    },
}
STRUCTURAL = Structural.compile({"type": "object", "properties": {"spec": SPEC}})


@pytest.mark.parametrize(
    ("spec", "expected", "unknown"),
    [
        ({"closed": {"a": "x", "b": 1}}, {"closed": {"a": "x"}}, ["spec.closed.b"]),
        ({"b": {"c": 1}}, {}, ["spec.b"]),
        (
            {"items": [{"a": "x"}, {"b": 1}]},
            {"items": [{"a": "x"}, {}]},
            ["spec.items[1].b"],
        ),
        ({"map": {"k": {"b": 1}}}, {"map": {"k": {}}}, ["spec.map.k.b"]),
        ({"open": {"b": 1}}, {"open": {"b": 1}}, []),
        (
            {"nested": {"x": 1, "known": {"b": 1}}},
            {"nested": {"x": 1, "known": {}}},
            ["spec.nested.known.b"],
        ),
        ({"any": [{"b": [1]}]}, {"any": [{"b": [1]}]}, []),
        ({"list": {"a": "b"}}, {"list": {}}, ["spec.list.a"]),
        (
            {
                "object": {
                    "apiVersion": "v1",
                    "kind": "X",
                    "metadata": {"name": "n", "q": 1},
                    "z": 1,
                }
            },
            {"object": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "n"}}},
            ["spec.object.z", "spec.object.metadata.q"],
        ),
    ],
)
def test_unknown_fields_are_dropped_and_reported(
    spec: Any, expected: Any, unknown: list[str]
) -> None:
    document = {"apiVersion": "x/v1", "kind": "X", "metadata": {"anything": 1}, "spec": spec}
    assert STRUCTURAL.prune(document) == ({**document, "spec": expected}, unknown)


def test_paths_are_sorted() -> None:
    _, unknown = STRUCTURAL.prune({"z": 1, "spec": {"y": 1, "closed": {"b": 1}}, "a": 1})
    assert unknown == ["a", "spec.closed.b", "spec.y", "z"]


def test_a_document_that_is_clean_is_returned_itself() -> None:
    document = {"metadata": {"x": 1}, "spec": {"items": [{"a": "x"}]}}
    assert STRUCTURAL.prune(document)[0] is document


def test_unpruned_parts_are_shared() -> None:
    document = {"spec": {"closed": {"a": "x"}, "items": [{"b": 1}]}}
    pruned, _ = STRUCTURAL.prune(document)
    assert pruned["spec"]["closed"] is document["spec"]["closed"]
    assert document["spec"]["items"] == [{"b": 1}]
