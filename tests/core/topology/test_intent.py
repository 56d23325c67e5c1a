"""Tests of the intent for server-side apply, and of the fields of a response that are ignored."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kapy.core.topology.intent import (
    MANAGER,
    comparable,
    intent_of,
    undecided_endpoint_paths,
    with_dry_run_annotation,
    without,
)
from kapy.kube import Document

DRY_RUN = "topology.cluster.x-k8s.io/dry-run"
CONVERSION = "cluster.x-k8s.io/conversion-data"


def document(spec: Any = None, **metadata: Any) -> Document:
    entries = {
        "apiVersion": "a/v1",
        "kind": "Herd",
        "metadata": {"name": "one", "namespace": "ns", **metadata},
    }
    return entries if spec is None else {**entries, "spec": spec}


def test_an_intent_has_only_the_managed_fields() -> None:
    desired = document(
        {"size": 1},
        labels={"a": "b"},
        finalizers=["x"],
        resourceVersion="7",
        generation=3,
        uid="made up",
    ) | {"status": {"ready": True}}
    assert intent_of(desired, None) == document({"size": 1}, labels={"a": "b"})
    current = document(uid="7-7")
    assert intent_of(desired, current)["metadata"]["uid"] == "7-7"
    assert "spec" not in intent_of(document(), None)


@pytest.mark.parametrize(
    ("endpoint", "unsaid"),
    [
        ({"host": "", "port": 0}, ["host", "port"]),
        ({"host": "example.com", "port": 0}, ["port"]),
        ({"host": "", "port": 6443}, ["host"]),
        ({"host": "example.com", "port": 6443}, []),
        ({}, []),
        (None, []),
    ],
)
def test_an_endpoint_that_a_template_leaves_empty_belongs_to_the_provider(
    endpoint: Any, unsaid: list[str]
) -> None:
    desired = document({"controlPlaneEndpoint": endpoint, "region": "north"})
    paths = undecided_endpoint_paths(desired)
    assert [path[-1] for path in paths] == unsaid
    spec = intent_of(desired, None, paths)["spec"]
    fields = {name: value for name, value in (endpoint or {}).items() if name not in unsaid}
    if fields or not unsaid:
        assert spec == {"controlPlaneEndpoint": fields if unsaid else endpoint, "region": "north"}
    else:
        assert spec == {"region": "north"}


def test_removing_a_path_drops_empty_parents_and_copies() -> None:
    before = {"a": {"b": {"c": 1}}, "d": {"e": 1}, "f": 2}
    text = json.dumps(before)
    assert without(before, ("a", "b", "c")) == {"d": {"e": 1}, "f": 2}
    assert without(before, ("d", "x")) is before
    assert without(before, ("f", "x")) is before
    assert json.dumps(before) == text


def answered(intent: Document) -> Document:
    """Return a server's response to a dry run of the intent."""
    tried = with_dry_run_annotation(intent)
    return {**tried, "metadata": {**tried["metadata"], "uid": "7-7"}}


def test_values_known_only_from_a_dry_run_are_ignored() -> None:
    intent = document({"size": 1}, annotations={"a": "b"})
    ours = {
        "manager": MANAGER,
        "operation": "Apply",
        "apiVersion": "a/v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsV1": {"f:metadata": {"f:annotations": {"f:a": {}, f"f:{DRY_RUN}": {}}}},
    }
    others = [
        {**ours, "manager": "kubectl"},
        {**ours, "operation": "Update"},
        {**ours, "subresource": "status"},
    ]
    answer = answered(intent) | {"status": {}}
    answer["metadata"]["annotations"][CONVERSION] = "{}"
    result = comparable(answer, [*others, ours], ())
    assert result["metadata"]["annotations"] == {"a": "b"}
    assert "status" not in result
    (entry,) = result["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:metadata": {"f:annotations": {"f:a": {}}}}
    assert "time" not in entry


def test_an_object_without_annotations_has_none_after_a_dry_run() -> None:
    tried = answered(document({"size": 1}))
    assert tried["metadata"]["annotations"] == {DRY_RUN: ""}
    assert "annotations" not in comparable(tried, None, ())["metadata"]
