"""Merge patches of three documents, as kubectl computes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kapy.kube import Document
from kapy.kube.patch.merge_patch import three_way

RECORDED = Path(__file__).parents[2] / "data" / "kubectl" / "three_way.jsonl"
"""Generated documents with the answers of k8s.io/apimachinery/pkg/util/jsonmergepatch v0.36.3."""


@pytest.mark.parametrize(
    ("original", "modified", "current", "patch"),
    [
        ({}, {"a": 1}, {"a": 1, "b": 2}, {}),
        ({}, {"a": {"x": 1}}, {"a": {"x": 2, "y": 3}}, {"a": {"x": 1}}),
        ({"a": 1, "b": 2}, {"a": 1}, {"a": 1, "b": 2}, {"b": None}),
        ({"a": {"x": 1}}, {"a": {}}, {"a": {"x": 1, "y": 2}}, {"a": {"x": None}}),
        ({"a": 1}, {"a": True}, {"a": 1}, {"a": True}),
        ({}, {"l": [1, 2]}, {"l": [1]}, {"l": [1, 2]}),
    ],
)
def test_a_patch_sets_wanted_fields_and_removes_formerly_applied_ones(
    original: Document, modified: Document, current: Document, patch: Document
) -> None:
    assert _text(three_way(original, modified, current)) == _text(patch)


def test_patches_are_those_of_upstream() -> None:
    cases = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    wrong = [
        case
        for case in cases
        if _text(three_way(case["original"], case["modified"], case["current"]))
        != _text(case["patch"])
    ]
    assert cases
    assert not wrong


def _text(value: Document) -> str:
    """The value as text: in Python, true equals 1."""
    return json.dumps(value, sort_keys=True)
