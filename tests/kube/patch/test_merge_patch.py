"""JSON merge patches: RFC 7396's own table, and laws that hold for all documents."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapy.kube.patch.merge_patch import apply, difference, is_equal_json

SCALARS = st.one_of(
    st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a", "b"]), st.floats(0, 2)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
    ),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4)
PATCHES = st.recursive(
    st.one_of(SCALARS, st.none()),
    lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=10,
).filter(lambda value: isinstance(value, dict))


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": 1}, {"a": True}, {"a": True}),
        ({}, {"a": [None, {"b": None}]}, {"a": [None, {}]}),
    ],
)
def test_a_merge_patch_follows_the_rfc(target: Any, patch: Any, result: Any) -> None:
    assert is_equal_json(apply(target, patch), result)


def test_parts_outside_of_the_patch_are_shared() -> None:
    target: dict[str, Any] = {"spec": {"a": {"x": 1}, "b": 2}, "status": {"c": [1]}}
    patched = apply(target, {"spec": {"b": 3}})
    assert patched["status"] is target["status"]
    assert patched["spec"]["a"] is target["spec"]["a"]
    assert target["spec"] == {"a": {"x": 1}, "b": 2}


def test_a_patch_that_changes_nothing_returns_the_document_itself() -> None:
    target = {"a": {"b": [1, {"c": 2}]}}
    assert apply(target, {"a": {"b": [1, {"c": 2}], "d": None}}) is target


@given(DOCUMENTS, DOCUMENTS)
def test_the_difference_leads_from_one_document_to_the_other(before: Any, after: Any) -> None:
    assert is_equal_json(apply(before, difference(before, after)), after)


@given(DOCUMENTS)
def test_there_is_no_difference_between_a_document_and_its_copy(document: Any) -> None:
    assert difference(document, copy.deepcopy(document)) == {}


@given(DOCUMENTS, PATCHES)
def test_a_patch_applied_twice_is_applied_once(document: Any, patch: Any) -> None:
    copies = copy.deepcopy(document), copy.deepcopy(patch)
    once = apply(document, patch)
    assert apply(once, patch) is once
    assert is_equal_json([document, patch], list(copies))


@pytest.mark.parametrize(("first", "two"), [(1, True), (0, False), ([1], [True]), ({"a": 0}, {})])
def test_values_of_different_types_are_different(first: Any, two: Any) -> None:
    assert not is_equal_json(first, two)


def test_a_number_is_the_same_with_and_without_a_fraction() -> None:
    assert is_equal_json({"a": 1, "b": [2.0]}, {"b": [2], "a": 1.0})
