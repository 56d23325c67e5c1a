"""JSON and strategic merge patches that are made from a difference lead to the target."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kapy.kube import Document
from kapy.kube.patch import json_patch, strategic
from kapy.kube.patch.merge_patch import is_equal_json
from tests.kube.patch.test_strategic import STRUCTS

WORD = st.sampled_from(["x", "y", "z"])
NAME = st.sampled_from(["one", "two", "three"])


def documents(names: list[str]) -> st.SearchStrategy[Document]:
    """Documents whose maps below the top have keys of these."""
    json = st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(-2, 2), WORD),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.sampled_from(names), inner, max_size=3),
        ),
        max_leaves=8,
    )
    return st.dictionaries(st.sampled_from(["a", "b", "c"]), json, max_size=3)


DOCUMENTS = documents(["a", "b/c", "~d", "", "é"])


def escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def operations(before: Any, after: Any, path: str = "") -> list[Document]:
    """The operations that make one value of another."""
    if is_equal_json(before, after):
        return []
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return [{"op": "replace", "path": path, "value": after}]
    results = [{"op": "remove", "path": f"{path}/{escaped(n)}"} for n in before if n not in after]
    for name, value in after.items():
        where = f"{path}/{escaped(name)}"
        if name in before:
            results += operations(before[name], value, where)
        else:
            results.append({"op": "add", "path": where, "value": value})
    return results


@given(DOCUMENTS, DOCUMENTS)
def test_a_json_patch_of_a_difference_leads_to_the_target(before: Any, after: Any) -> None:
    copy_before = copy.deepcopy(before)
    assert is_equal_json(json_patch.apply(before, operations(before, after)), after)
    assert is_equal_json(before, copy_before)


ENV = st.lists(
    st.fixed_dictionaries({"name": NAME}, optional={"value": WORD}),
    max_size=3,
    unique_by=lambda item: item["name"],
)
CONTAINERS = st.lists(
    st.fixed_dictionaries({"name": NAME}, optional={"image": WORD, "env": ENV}),
    max_size=3,
    unique_by=lambda item: item["name"],
)
PODS = st.fixed_dictionaries(
    {},
    optional={
        "labels": st.dictionaries(NAME, WORD, max_size=3),
        "containers": CONTAINERS,
        "args": st.lists(WORD, max_size=3),
        "selector": st.dictionaries(NAME, WORD, max_size=2),
    },
)
_LISTS = {"containers": "Container", "env": "Env"}


def difference(before: Document, after: Document) -> Document:
    """A strategic merge patch as kubectl makes it: deletions by key, and the order of lists."""
    patch: Document = {name: None for name in before if name not in after}
    for name, value in after.items():
        old = before.get(name)
        if is_equal_json(old, value):
            continue
        if name in _LISTS and old is not None:
            patch |= listed(name, old, value)
        elif name == "labels" and old is not None:
            patch[name] = difference(old, value)
        else:
            patch[name] = value
    return patch


def listed(name: str, before: list[Document], after: list[Document]) -> Document:
    """The part of a patch about a list whose items have names."""
    old = {document["name"]: document for document in before}
    wanted = [document["name"] for document in after]
    items = [
        {"name": document["name"], **difference(old.get(document["name"], {}), document)}
        for document in after
        if not is_equal_json(old.get(document["name"]), document)
    ]
    removals = [{"$patch": "delete", "name": item} for item in old if item not in wanted]
    order = [{"name": item} for item in wanted]
    return {f"$setElementOrder/{name}": order, name: [*items, *removals]}


@given(PODS, PODS)
def test_a_strategic_patch_of_a_difference_leads_to_the_target(before: Any, after: Any) -> None:
    copy_before = copy.deepcopy(before)
    patch = difference(before, after)
    once = strategic.apply(before, patch, STRUCTS, "Pod")
    assert is_equal_json(once, after)
    assert is_equal_json(strategic.apply(once, patch, STRUCTS, "Pod"), after)
    assert is_equal_json(before, copy_before)
