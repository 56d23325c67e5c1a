"""Laws of carrying changes over to a newer state."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kapy.engine.three_way_merge import three_way_merge, touches_shared_list
from kapy.kube import Document

SCALARS = st.one_of(st.booleans(), st.integers(0, 3), st.sampled_from(["a", "b"]))
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from("xyz"), inner, max_size=3), st.lists(inner, max_size=2)
    ),
    max_leaves=6,
)
FINALIZERS = st.lists(st.sampled_from("pqrs"), unique=True, max_size=4)
CONDITIONS = st.dictionaries(
    st.sampled_from(["Ready", "Available", "Paused"]), st.sampled_from(["True", "False"])
)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    document = draw(st.dictionaries(st.sampled_from(["spec", "other"]), VALUES, max_size=2))
    if finalizers := draw(FINALIZERS):
        document["metadata"] = {"finalizers": finalizers}
    if conditions := draw(CONDITIONS):
        entries = [{"type": name, "status": status} for name, status in conditions.items()]
        document["status"] = {"conditions": entries}
    return document


def finalizers_of(document: Document) -> set[str]:
    return set(document.get("metadata", {}).get("finalizers", []))


def conditions_of(document: Document) -> dict[str, str]:
    entries = document.get("status", {}).get("conditions", [])
    return {entry["type"]: entry["status"] for entry in entries}


@given(documents(), documents())
def test_without_an_own_change_the_merge_equals_theirs(base: Document, theirs: Document) -> None:
    assert three_way_merge(base, base, theirs) == theirs


@given(documents(), documents())
def test_without_a_foreign_change_the_merge_equals_ours(base: Document, ours: Document) -> None:
    assert three_way_merge(base, ours, base) == ours


@given(documents(), documents())
def test_the_same_change_by_both_sides_is_applied_once(base: Document, both: Document) -> None:
    assert three_way_merge(base, both, both) == both


@given(documents(), documents(), documents())
def test_added_and_removed_finalizers_of_both_sides_are_merged(
    base: Document, ours: Document, theirs: Document
) -> None:
    was, mine, yours = map(finalizers_of, (base, ours, theirs))
    merge = three_way_merge(base, ours, theirs)
    assert finalizers_of(merge) == (yours | (mine - was)) - (was - mine)
    entries = merge.get("metadata", {}).get("finalizers", [])
    assert len(entries) == len(set(entries))


@given(documents(), documents(), documents())
def test_an_own_change_of_a_condition_wins(
    base: Document, ours: Document, theirs: Document
) -> None:
    was, mine, yours = map(conditions_of, (base, ours, theirs))
    wanted = dict(yours)
    for name in was.keys() | mine.keys():
        if mine.get(name) == was.get(name):
            continue
        wanted.pop(name, None)
        if name in mine:
            wanted[name] = mine[name]
    assert conditions_of(three_way_merge(base, ours, theirs)) == wanted


def test_shared_lists_are_recognized_at_any_depth() -> None:
    assert touches_shared_list({"metadata": {"finalizers": None}})
    assert touches_shared_list({"metadata": {"ownerReferences": []}})
    assert touches_shared_list({"status": {"deprecated": {"v1beta1": {"conditions": []}}}})
    assert not touches_shared_list({"metadata": {"labels": {"a": "b"}}, "spec": {"list": []}})
