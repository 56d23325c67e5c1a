"""Whether an apply would change anything, told from the object alone."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kapy.kube import Document
from kapy.kube.apply.no_op import is_no_op

INTENT: Document = {
    "apiVersion": "x.dev/v1",
    "kind": "Thing",
    "metadata": {
        "name": "a",
        "uid": "u",
        "labels": {"one": "1"},
        "finalizers": ["f"],
        "ownerReferences": [{"uid": "o", "name": "owner", "kind": "K"}],
    },
    "spec": {"size": 3, "parts": ["x", "y"], "map": {"k": "v"}},
}
LIVE: Document = {
    **deepcopy(INTENT),
    "metadata": {
        **deepcopy(INTENT["metadata"]),
        "labels": {"one": "1", "other": "2"},
        "finalizers": ["theirs", "f"],
        "managedFields": [
            {"manager": "somebody", "operation": "Apply", "fieldsV1": {}},
            {
                "manager": "us",
                "operation": "Apply",
                "fieldsV1": {
                    "f:metadata": {
                        "f:labels": {"f:one": {}},
                        "f:finalizers": {'v:"f"': {}},
                        "f:ownerReferences": {
                            'k:{"uid":"o"}': {".": {}, "f:uid": {}, "f:name": {}, "f:kind": {}}
                        },
                    },
                    "f:spec": {"f:size": {}, "f:parts": {}, "f:map": {"f:k": {}}},
                },
            },
        ],
    },
}


def changed(document: Document, path: str, value: Any) -> Document:
    copy = deepcopy(document)
    node = copy
    *parts, last = path.split(".")
    for part in parts:
        node = node[part]
    if value is None:
        del node[last]
    else:
        node[last] = value
    return copy


def test_an_apply_of_the_same_fields_is_a_no_op() -> None:
    assert is_no_op(LIVE, INTENT, "us")


@pytest.mark.parametrize("manager", ["somebody", "nobody"])
def test_an_apply_by_another_manager_is_not_a_no_op(manager: str) -> None:
    assert not is_no_op(LIVE, INTENT, manager)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.size", 4),
        ("spec.size", True),
        ("spec.parts", ["y", "x"]),
        ("spec.map", {"k": "other"}),
        ("metadata.labels", {"one": "2"}),
        ("metadata.finalizers", ["theirs"]),
        ("metadata.ownerReferences", [{"uid": "o", "name": "renamed", "kind": "K"}]),
    ],
)
def test_a_foreign_change_of_a_value_has_to_be_applied(path: str, value: Any) -> None:
    assert not is_no_op(changed(LIVE, path, value), INTENT, "us")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.map", None),
        ("spec.map", {"k": "v", "new": "w"}),
        ("metadata.labels", None),
        ("metadata.finalizers", ["f", "g"]),
        ("metadata.ownerReferences", None),
    ],
)
def test_an_intent_that_changed_has_to_be_applied(path: str, value: Any) -> None:
    assert not is_no_op(LIVE, changed(INTENT, path, value), "us")
