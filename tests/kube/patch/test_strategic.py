"""Strategic merge patches of a small kind of our own that has every kind of list."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kapy.kube.errors import ApiError, BadRequest
from kapy.kube.patch.strategic import apply

STRUCTS: dict[str, Any] = {
    "Pod": {
        "labels": {"t": "{}string"},
        "containers": {"t": "[]Container", "ps": "merge", "mk": "name"},
        "volumes": {"t": "[]Volume", "ps": "merge,retainKeys", "mk": "name"},
        "finalizers": {"t": "[]string", "ps": "merge"},
        "args": {"t": "[]string"},
        "tolerations": {"t": "[]Toleration"},
        "strategy": {"t": "Strategy", "ps": "retainKeys"},
        "selector": {"t": "Selector", "ps": "replace"},
    },
    "Container": {
        "name": {"t": "string"},
        "image": {"t": "string"},
        "env": {"t": "[]Env", "ps": "merge", "mk": "name"},
    },
    "Env": {"name": {"t": "string"}, "value": {"t": "string"}},
    "Volume": {"name": {"t": "string"}},
    "Toleration": {},
    "Strategy": {},
    "Selector": {},
}
LIVE: dict[str, Any] = {
    "labels": {"a": "1", "b": "2"},
    "containers": [
        {"name": "one", "image": "x:1", "env": [{"name": "A", "value": "1"}]},
        {"name": "two", "image": "y:1"},
    ],
    "volumes": [{"name": "v", "emptyDir": {}}],
    "finalizers": ["f1", "f2"],
    "args": ["a", "b"],
    "tolerations": [{"key": "k"}],
    "strategy": {"type": "Rolling", "rolling": {"max": 1}},
    "selector": {"x": "1"},
}


@pytest.mark.parametrize(
    ("patch", "field", "expected"),
    [
        ({"labels": {"a": None, "c": "3"}}, "labels", {"b": "2", "c": "3"}),
        ({"labels": {"$patch": "replace", "z": "9"}}, "labels", {"z": "9"}),
        ({"labels": {"$patch": "delete"}}, "labels", {}),
        ({"args": ["c"]}, "args", ["c"]),
        ({"tolerations": [{"key": "l"}]}, "tolerations", [{"key": "l"}]),
        ({"finalizers": ["f3", "f1"]}, "finalizers", ["f3", "f1", "f2"]),
        ({"$deleteFromPrimitiveList/finalizers": ["f1"]}, "finalizers", ["f2"]),
        ({"selector": {"y": "2"}}, "selector", {"y": "2"}),
        (
            {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}},
            "strategy",
            {"type": "Recreate"},
        ),
        (
            {"volumes": [{"name": "v", "$retainKeys": ["name", "host"], "host": {"path": "/"}}]},
            "volumes",
            [{"name": "v", "host": {"path": "/"}}],
        ),
        (
            {"containers": [{"name": "two", "image": "y:2"}]},
            "containers",
            [LIVE["containers"][0], {"name": "two", "image": "y:2"}],
        ),
        (
            {"containers": [{"name": "one", "$patch": "delete"}]},
            "containers",
            [LIVE["containers"][1]],
        ),
        (
            {"containers": [{"$patch": "replace"}, {"name": "new"}]},
            "containers",
            [{"name": "new"}],
        ),
        (
            {"containers": [{"name": "new", "image": "z", "env": None}]},
            "containers",
            [{"name": "new", "image": "z", "env": None}, *LIVE["containers"]],
        ),
        (
            {"$setElementOrder/containers": [{"name": "two"}, {"name": "one"}]},
            "containers",
            [LIVE["containers"][1], LIVE["containers"][0]],
        ),
        (
            {
                "$setElementOrder/containers": [{"name": "new"}, {"name": "one"}],
                "containers": [{"name": "new"}],
            },
            "containers",
            [{"name": "new"}, LIVE["containers"][0], LIVE["containers"][1]],
        ),
        (
            {"containers": [{"name": "one", "env": [{"name": "B", "value": "2"}]}]},
            "containers",
            [
                {
                    "name": "one",
                    "image": "x:1",
                    "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}],
                },
                LIVE["containers"][1],
            ],
        ),
        (
            {"unknown": {"$retainKeys": [], "b": None, "a": [{"$patch": "delete"}]}},
            "unknown",
            {"$retainKeys": [], "a": []},
        ),
        ({"$deleteFromPrimitiveList/args": "a"}, "args", ["a", "b"]),
    ],
)
def test_a_field_merges_by_its_strategy(patch: Any, field: str, expected: Any) -> None:
    before = copy.deepcopy(LIVE), copy.deepcopy(patch)
    result = apply(LIVE, patch, STRUCTS, "Pod")
    assert result[field] == expected
    assert (LIVE, patch) == before
    assert all(result[name] is LIVE[name] for name in LIVE if name != field)


def test_a_patch_that_changes_nothing_returns_the_object_itself() -> None:
    patch = {"labels": {"a": "1", "z": None}, "containers": [{"name": "one", "image": "x:1"}]}
    assert apply(LIVE, {"labels": patch["labels"]}, STRUCTS, "Pod") is LIVE


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"labels": {"$patch": "frob"}}, "unknown patch type: frob in map: map[$patch:frob]"),
        (
            {"containers": [{"image": "x"}]},
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            {"$setElementOrder/containers": [{"name": "x"}], "containers": [{"name": "one"}]},
            "The order in patch list:\n[map[name:one]]\n doesn't match $setElementOrder list:",
        ),
        ({"$setElementOrder/args": "x"}, "expected a []interface {}, but received a string"),
        ({"$setElementOrder": []}, "invalid patch format of setElementOrder list"),
        ({"$deleteFromPrimitiveList": []}, "invalid patch format of primitive list"),
        ({"labels": {"$patch": 1}}, "unknown patch type: %!s(int64=1) in map: map[$patch:1]"),
        (
            {"$setElementOrder/finalizers": [{"name": "one"}], "$setElementOrder/other": []},
            'unable to find api field in struct Pod for the json field "other"',
        ),
        (
            {"labels": {"a": None, "$setElementOrder/z": []}},
            "merging an object in json but data type is not struct, instead is: map",
        ),
        (
            {"$setElementOrder/labels": []},
            "expected a []interface {}, but received a map[string]interface {}",
        ),
        (
            {"strategy": {"$retainKeys": ["type"], "rolling": {}}},
            "invalid patch format of retainKeys",
        ),
    ],
)
def test_a_wrong_directive_is_refused(patch: Any, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        apply(LIVE, patch, STRUCTS, "Pod")
    assert refused.value.message.startswith(message)


def test_a_patch_must_be_an_object() -> None:
    with pytest.raises(BadRequest, match="cannot unmarshal array into Go value"):
        apply(LIVE, [1], STRUCTS, "Pod")
