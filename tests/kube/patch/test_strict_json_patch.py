"""JSON patch as Cluster API applies it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from kapy.kube.patch.merge_patch import is_equal_json
from kapy.kube.patch.strict_json_patch import BadPatch, apply, parse_patch
from kapy.testing.frozen import freeze
from tests.kube.patch.test_patch_laws import documents, operations

DOCUMENT = freeze({"a": {"b": 1, "": 2}, "l": ["x", "y"], "n": None, "s/t": {"u~v": True}})


@pytest.mark.parametrize(
    ("patch", "changed"),
    [
        ([], {}),
        (None, {}),
        ([{"op": "add", "path": "/l/-", "value": "z"}], {"l": ["x", "y", "z"]}),
        ([{"op": "add", "path": "/l/-1", "value": "z"}], {"l": ["x", "y", "z"]}),
        ([{"op": "add", "path": "/l/00", "value": "z"}], {"l": ["z", "x", "y"]}),
        ([{"op": "replace", "path": "/l/-1", "value": "z"}], {"l": ["x", "z"]}),
        ([{"op": "remove", "path": "/l/0"}], {"l": ["y"]}),
        ([{"op": "replace", "path": "/n", "value": 1}], {"n": 1}),
        ([{"op": "replace", "path": "/s~1t/u~0v", "value": 1}], {"s/t": {"u~v": 1}}),
        ([{"op": "add", "path": "/a/", "value": 3}], {"a": {"b": 1, "": 3}}),
        ([{"op": "move", "path": "/l/0", "from": "/a/b"}], {"a": {"": 2}, "l": [1, "x", "y"]}),
        ([{"op": "copy", "path": "/n", "from": "/l/-1"}], {"n": "y"}),
        ([{"op": "test", "path": "/absent", "value": None}], {}),
        ([{"op": "add", "path": "/n", "value": 2**64}], {"n": float(2**64)}),
    ],
)
def test_a_json_patch_changes_the_document(patch: Any, changed: dict[str, Any]) -> None:
    assert is_equal_json(apply(DOCUMENT, parse_patch(patch)), {**DOCUMENT, **changed})


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ({}, "a list of operations"),
        ([1], "a list of operations"),
        ([{"path": "/a"}], "operation 0 does not say what it does"),
        ([{"op": "bogus", "path": "/a"}], '"bogus" is no operation'),
        ([{"op": "add", "value": 1}], r"operation 0 \(add\) has no `path`"),
        ([{"op": "add", "path": "/a"}], "has no `value`"),
        ([{"op": "move", "path": "/a"}], "has no `from`"),
        ([{"op": "replace", "path": "/absent", "value": 1}], "there is no /absent"),
        ([{"op": "remove", "path": "/a/c/d"}], "remove /a/c/d: there is no /a/c"),
        ([{"op": "add", "path": "/n/x", "value": 1}], "it cannot be done there"),
        ([{"op": "add", "path": "/l/4", "value": 1}], "add /l/4: it cannot be done there"),
        ([{"op": "remove", "path": "/l/-"}], "there is no /l/-"),
        ([{"op": "test", "path": "/a/b", "value": 2}], "the value there is another one"),
        ([{"op": "test", "path": "/a/b", "value": 1.0}], "the value there is another one"),
        ([{"op": "copy", "path": "/x", "from": "/absent"}], "copy /absent to /x"),
        ([{"op": "add", "path": "a", "value": 1}], "add a: it cannot be done there"),
        (
            [{"op": "add", "path": "/big", "value": "x" * 2**20}]
            + [{"op": "copy", "path": f"/{n}", "from": "/big"} for n in range(3)],
            "may add 3145728 bytes",
        ),
    ],
)
def test_an_impossible_json_patch_is_reported(patch: Any, said: str) -> None:
    with pytest.raises(BadPatch, match=said):
        apply(DOCUMENT, parse_patch(patch))


DOCUMENTS = documents(["a", "b/c", "~d", "é"])  # this reader skips an empty part of a path


@given(DOCUMENTS, DOCUMENTS)
def test_a_patch_of_a_difference_leads_to_the_target(before: Any, after: Any) -> None:
    copy_before = copy.deepcopy(before)
    assert is_equal_json(apply(before, parse_patch(operations(before, after))), after)
    assert is_equal_json(before, copy_before)
