"""JSON patches by an editor give what they give on copies, and cost what they change."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapy.kube.patch import editing
from kapy.kube.patch.editing import CannotApply, ChunkedList, DocumentEditor, child, index

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(0, 3), st.floats(0, 2)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=8,
)
TOKENS = st.lists(st.sampled_from(["a", "b", "0", "1", "3", "-1", "-"]), min_size=1, max_size=3)
EDITS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["add", "replace", "test"]), TOKENS, VALUES),
        st.tuples(st.sampled_from(["move", "copy"]), TOKENS, TOKENS),
        st.tuples(st.just("remove"), TOKENS, st.none()),
    ),
    max_size=8,
)


def on_copies(document: Any, tokens: Sequence[str], change: Callable[[Any, str], None]) -> Any:
    """The plain way: copy everything, change one container."""
    document = copy.deepcopy(document)
    node = document
    for token in tokens[:-1]:
        node = child(node, token)
    if not isinstance(node, dict | list):
        raise CannotApply
    change(node, tokens[-1])
    return document


def adding(value: Any) -> Callable[[Any, str], None]:
    def change(node: Any, token: str) -> None:
        if isinstance(node, dict):
            node[token] = value
        else:
            node.insert(len(node) if token == "-" else index(token, len(node) + 1), value)

    return change


def replacing(value: Any) -> Callable[[Any, str], None]:
    def change(node: Any, token: str) -> None:
        node[token if isinstance(node, dict) else index(token, len(node))] = value

    return change


def removing(node: Any, token: str) -> None:
    child(node, token)
    del node[token if isinstance(node, dict) else index(token, len(node))]


def found(document: Any, tokens: Sequence[str]) -> Any:
    for token in tokens[:-1]:
        document = child(document, token)
    return document.get(tokens[-1]) if isinstance(document, dict) else child(document, tokens[-1])


def plainly(document: Any, edit: tuple[str, Any, Any]) -> Any:
    op, tokens, more = edit
    match op:
        case "add":
            return on_copies(document, tokens, adding(more))
        case "replace":
            return on_copies(document, tokens, replacing(more))
        case "remove":
            return on_copies(document, tokens, removing)
        case "move":
            value = found(document, tokens)
            return on_copies(on_copies(document, tokens, removing), more, adding(value))
        case "copy":
            return on_copies(document, more, adding(copy.deepcopy(found(document, tokens))))
    if repr(found(document, tokens)) != repr(more):
        raise CannotApply
    return document


def by(editor: DocumentEditor, edit: tuple[str, Any, Any]) -> None:
    op, tokens, more = edit
    match op:
        case "add":
            editor.add(tokens, more)
        case "replace":
            editor.replace(tokens, more)
        case "remove":
            editor.remove(tokens)
        case "move":
            value = editor.value_at(tokens)
            editor.remove(tokens)
            editor.add(more, value)
        case "copy":
            editor.add(more, editor.copy_of(editor.value_at(tokens))[0])
        case _:
            if not editor.equals(editor.value_at(tokens), more):
                raise CannotApply


@pytest.fixture(params=[0, editing.LONG_LIST], ids=["in parts", "whole"], scope="module")
def _long(request: Any) -> Any:
    before, part = editing.LONG_LIST, editing._PART
    editing.LONG_LIST = request.param  # type: ignore[misc]
    editing._PART = 2 if not request.param else part  # type: ignore[misc]
    yield
    editing.LONG_LIST, editing._PART = before, part  # type: ignore[misc]


@pytest.mark.usefixtures("_long")
@given(st.dictionaries(st.sampled_from("ab"), VALUES, max_size=2), EDITS)
@settings(deadline=None, max_examples=400)
def test_edits_are_those_of_copies(document: Any, edits: list[tuple[str, Any, Any]]) -> None:
    copy_before, given_edits = copy.deepcopy(document), copy.deepcopy(edits)
    editor, expected = DocumentEditor(document), document
    for edit in edits:
        try:
            expected = plainly(expected, edit)
        except CannotApply:
            with pytest.raises(CannotApply):
                by(editor, edit)
            break
        by(editor, edit)
    else:
        assert repr(_sorted(editor.document)) == repr(_sorted(expected))
    assert document == copy_before
    assert edits == given_edits


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return list(map(_sorted, value)) if isinstance(value, list) else value


@pytest.mark.usefixtures("_long")
def test_lists_that_were_changed_are_copied_moved_and_compared_as_they_are() -> None:
    editor = DocumentEditor({"a": {"x": [1, 2, 3, 4, 5]}, "b": {}})
    editor.add(["a", "x", "0"], 0)
    editor.add(["b", "copy"], editor.copy_of(editor.value_at(["a"]))[0])
    editor.add(["a", "x", "-"], 6)
    assert editor.equals(editor.value_at(["a", "x"]), [0, 1, 2, 3, 4, 5, 6])
    assert editor.equals(editor.root, {"a": {"x": [*range(7)]}, "b": {"copy": {"x": [*range(6)]}}})
    moved = editor.value_at(["a"])
    editor.remove(["a"])
    editor.add(["b", "moved"], moved)
    editor.remove(["b", "moved", "x", "0"])
    expected = {"b": {"copy": {"x": [*range(6)]}, "moved": {"x": [*range(1, 7)]}}}
    assert editor.document == expected


def test_untouched_parts_are_shared_and_edited_parts_copied_once() -> None:
    document = {"a": {"x": [1]}, "b": [0]}
    editor = DocumentEditor(document)
    editor.add(["b", "-"], 1)
    first = editor.root["b"]
    editor.add(["b", "-"], 2)
    assert editor.root["b"] is first
    assert editor.document["a"] is document["a"]
    assert document == {"a": {"x": [1]}, "b": [0]}


def test_a_long_list_is_changed_a_part_at_a_time() -> None:
    parts, items = ChunkedList(list(range(50_000))), list(range(50_000))
    for at in (0, 49_999, 25_000, *range(0, 20_000, 3), *[7] * 20_000):
        parts.insert(at, -at)
        items.insert(at, -at)
    for at in [0] * 30_000:
        parts.pop(at)
    assert parts.items() == items[30_000:]
    assert parts.length == len(items) - 30_000
    assert max(map(len, parts._parts)) <= 2 * editing._PART
