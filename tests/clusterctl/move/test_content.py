"""Tests of the differences between an object and its copy on the target."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.clusterctl.move.content import (
    compared_content,
    content_to_create,
    differences,
    movable_content,
)
from kapy.kube import Document

OWNER = {"apiVersion": "v1", "kind": "Secret", "name": "o", "uid": "there"}


def spec(value: Any) -> Document:
    return {"metadata": {"name": "a"}, "spec": value}


@pytest.mark.parametrize(
    ("wanted", "actual", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 1, "b": "a default"}, []),
        ({"a": 1, "b": {}}, {"a": 1}, []),
        ({"a": None, "b": []}, {}, []),
        ({"a": 1}, {"a": 2}, ["spec.a"]),
        ({"a": {"b": 0}}, {}, ["spec.a.b"]),
        ({"a": False}, {"a": None}, ["spec.a"]),
        ({"a": [1, 2]}, {"a": [1, 2, 3]}, []),
        ({"a": [{"n": 1}, {"n": 2}]}, {"a": [{"n": 1, "d": 1}, {"n": 9}, {"n": 2}]}, []),
        ({"a": [1, 2]}, {"a": [2, 1]}, ["spec.a[1]"]),
        ({"a": [{"n": 1, "gone": 1}]}, {"a": [{"n": 1}]}, ["spec.a[0]"]),
        ({"a": [1]}, {}, ["spec.a"]),
        ({"a": {"b": 1}}, {"a": "text"}, ["spec.a"]),
    ],
)
def test_added_fields_are_no_difference_and_dropped_fields_are(
    wanted: Any, actual: Any, expected: list[str]
) -> None:
    assert list(differences(spec(wanted), spec(actual))) == expected


@pytest.mark.parametrize(
    ("wanted", "actual", "expected"),
    [
        ({"labels": {"a": "1"}}, {"labels": {"a": "1", "b": "2"}}, []),
        ({"labels": {"a": "1"}}, {}, ["metadata.labels.a"]),
        ({"finalizers": ["a"]}, {"finalizers": ["b", "a"]}, []),
        ({"finalizers": ["a"]}, {}, ["metadata.finalizers"]),
        ({"ownerReferences": [OWNER]}, {"ownerReferences": [OWNER]}, []),
        (
            {"ownerReferences": [OWNER]},
            {"ownerReferences": [{**OWNER, "uid": "here"}]},
            ["metadata.ownerReferences"],
        ),
    ],
)
def test_metadata_added_by_others_is_no_difference(
    wanted: Document, actual: Document, expected: list[str]
) -> None:
    assert list(differences({"metadata": wanted}, {"metadata": actual})) == expected


def test_server_fields_are_not_moved() -> None:
    server = {
        "uid": "here",
        "resourceVersion": "7",
        "generation": 3,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [{}],
        "generateName": "a-",
        "ownerReferences": [{**OWNER, "uid": "here"}],
    }
    metadata = {"name": "a", "labels": {"a": "1"}, "finalizers": ["f"], "annotations": {}}
    document = {"metadata": {**server, **metadata}, "spec": {}}
    assert content_to_create(document, [OWNER]) == {
        "metadata": {**metadata, "ownerReferences": [OWNER]},
        "spec": {},
    }


def test_a_status_that_is_no_subresource_is_content() -> None:
    document = {"metadata": {}, "status": {"a": 1}}
    assert movable_content(document, status=False) == document
    assert movable_content(document, status=True) == {"metadata": {}}


def test_only_written_fields_make_a_difference() -> None:
    before = {"metadata": {"uid": "u", "resourceVersion": "1", "generation": 1}, "spec": {"a": 1}}
    touched = {"metadata": {"uid": "u", "resourceVersion": "2"}, "spec": {}}
    assert compared_content(before)["metadata"] == {"uid": "u"}
    assert compared_content(touched) != compared_content(before)
