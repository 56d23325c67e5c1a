"""JSON patches, with the departures from the RFC that kube-apiserver has."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kapy.kube.errors import BadRequest, Invalid, TooLarge
from kapy.kube.patch.json_patch import MAX_OPERATIONS, apply

DOCUMENT = {"spec": {"size": "small", "tags": ["a", "b", "c"], "owner": {"name": "n"}}, "a/b~c": 1}


def op(name: str, path: str, value: Any = None, **more: Any) -> dict[str, Any]:
    return {"op": name, "path": path, "value": value, **more}


@pytest.mark.parametrize(
    ("operation", "path", "expected"),
    [
        (op("add", "/spec/ratio", 0.5), ("spec", "ratio"), 0.5),
        (op("add", "/spec/size", "large"), ("spec", "size"), "large"),
        (op("add", "/spec/tags/-", "d"), ("spec", "tags"), ["a", "b", "c", "d"]),
        (op("add", "/spec/tags/1", "x"), ("spec", "tags"), ["a", "x", "b", "c"]),
        (op("add", "/spec/tags/3", "x"), ("spec", "tags"), ["a", "b", "c", "x"]),
        (op("add", "/spec/tags/-1", "x"), ("spec", "tags"), ["a", "b", "c", "x"]),
        (op("add", "/spec/tags/01", "x"), ("spec", "tags"), ["a", "x", "b", "c"]),
        (op("remove", "/spec/tags/0"), ("spec", "tags"), ["b", "c"]),
        (op("remove", "/spec/tags/-1"), ("spec", "tags"), ["a", "b"]),
        (op("replace", "/spec/size", "big"), ("spec", "size"), "big"),
        (op("replace", "/spec/ratio", 1), ("spec", "ratio"), 1),
        (op("replace", "/a~1b~0c", 2), ("a/b~c",), 2),
        (op("move", "/spec/tags/0", **{"from": "/spec/tags/2"}), ("spec", "tags"), ["c", "a", "b"]),
        (op("copy", "/spec/note", **{"from": "/spec/owner/name"}), ("spec", "note"), "n"),
        (op("copy", "/spec/note", **{"from": "/spec/nothing"}), ("spec", "note"), None),
        (op("add", "spec/note", "x"), ("note",), "x"),
        (op("replace", "", {"whole": 1}), (), {"whole": 1}),
    ],
)
def test_an_operation_changes_one_place(
    operation: dict[str, Any], path: tuple[str, ...], expected: Any
) -> None:
    result = apply(DOCUMENT, [operation])
    for name in path:
        result = result[name]
    assert result == expected


@pytest.mark.parametrize(
    "operation",
    [
        op("add", "/status/conditions/0", {}),
        op("add", "/spec/tags/5", "x"),
        op("add", "/spec/tags/x", "x"),
        op("add", "/spec/size/x", "x"),
        op("add", "", {}),
        op("remove", "/spec/nothing"),
        op("remove", "/spec/tags/3"),
        op("replace", "/spec/tags/5", "x"),
        op("move", "/x", **{"from": "/nothing"}),
        op("test", "/spec/size", "large"),
        op("test", "/spec/nothing", "x"),
        op("test", "/spec/tags", ["a"]),
        op("frob", "/spec/size"),
        {"op": "add", "value": 1},
        {"path": "/a"},
    ],
)
def test_an_operation_that_does_not_apply_is_refused(operation: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match="due to an error in our request"):
        apply(DOCUMENT, [operation])


@pytest.mark.parametrize(
    ("path", "value"), [("/a~1b~0c", 1), ("/spec/owner", {"name": "n"}), ("/spec/nothing", None)]
)
def test_a_test_that_holds_changes_nothing(path: str, value: Any) -> None:
    assert apply(DOCUMENT, [op("test", path, value)]) is DOCUMENT


def test_numbers_are_tested_as_they_are_written() -> None:
    with pytest.raises(Invalid):
        apply({"a": 2}, [op("test", "/a", 2.0)])
    with pytest.raises(Invalid):
        apply({"a": 1}, [op("test", "/a", True)])


def test_a_later_operation_that_fails_undoes_all() -> None:
    before = copy.deepcopy(DOCUMENT)
    with pytest.raises(Invalid):
        apply(DOCUMENT, [op("replace", "/spec/size", "x"), op("remove", "/nothing")])
    assert before == DOCUMENT


def test_untouched_parts_are_shared() -> None:
    result = apply(DOCUMENT, [op("add", "/spec/tags/-", "d")])
    assert result["spec"]["owner"] is DOCUMENT["spec"]["owner"]  # type: ignore[index]


def test_a_patch_must_be_a_list() -> None:
    with pytest.raises(BadRequest, match=r"cannot unmarshal object into Go value of type \[\]"):
        apply(DOCUMENT, {"op": "add"})


def test_a_patch_has_a_limit() -> None:
    test = op("test", "/spec/size", "small")
    assert apply(DOCUMENT, [test] * MAX_OPERATIONS) is DOCUMENT
    with pytest.raises(TooLarge, match="maximum operations in a JSON patch is 10000, got 10001"):
        apply(DOCUMENT, [test] * (MAX_OPERATIONS + 1))
