"""The parts of remote objects that a cache keeps."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from kapy.engine.transform import transform_of
from kapy.kube import Document
from kapy.kube.names import CONFIG_MAPS


def entry(manager: str, operation: str, fields: Document, **more: str) -> Document:
    return {"manager": manager, "operation": operation, "fieldsV1": fields, **more}


def applied(uid: str) -> Document:
    owners: Document = {f'k:{{"uid":"{uid}"}}': {}}
    return {
        "f:metadata": {"f:labels": {"f:a": {}, "f:b": {}}, "f:ownerReferences": owners},
        "f:data": {"f:one": {}, ".": {}},
    }


def an_object(name: str) -> Document:
    metadata = {
        "name": name,
        "managedFields": [
            entry("kubectl", "Update", {"f:data": {}}),
            entry("kapy", "Apply", applied(name)),
            entry("kapy", "Apply", {"f:status": {}}, subresource="status"),
        ],
    }
    return {"metadata": metadata, "data": {"one": "1", "long": "x" * 1000}}


def test_fields_of_updates_are_left_out_and_equal_parts_are_kept_once() -> None:
    trim, come = transform_of(CONFIG_MAPS, metadata=False), [an_object("a"), an_object("b")]
    before = deepcopy(come)
    trimmed = [trim(document) for document in come]
    assert come == before
    for name, item in zip("ab", trimmed, strict=True):
        fields = item["metadata"].pop("managedFields")
        assert fields == [
            {"manager": "kubectl", "operation": "Update"},
            entry("kapy", "Apply", applied(name)),
            {"manager": "kapy", "operation": "Apply", "subresource": "status"},
        ]
        assert item == {"metadata": {"name": name}, "data": an_object(name)["data"]}

    def form(document: Document) -> Any:
        return trim(document)["metadata"]["managedFields"][1]["fieldsV1"]

    first, second = map(form, come)
    assert first["f:metadata"]["f:labels"] is second["f:metadata"]["f:labels"]
    assert first["f:data"] is second["f:data"]
    assert first["f:metadata"] != second["f:metadata"]


def test_unchanged_parts_are_those_of_the_former_state() -> None:
    trim = transform_of(CONFIG_MAPS, metadata=False)
    old = trim(an_object("a") | {"list": [{"x": [1]}, {"x": [2]}], "kept": {"y": {"z": "w"}}})
    new = an_object("a") | {"list": [{"x": [1]}, {"x": [3]}, {"x": [4]}], "kept": {"y": {"z": "w"}}}
    trimmed = trim(new, old)
    assert trimmed == trim(new)
    assert trimmed["kept"] is old["kept"]
    assert trimmed["data"] is old["data"]
    assert trimmed["list"][0] is old["list"][0]
    assert trimmed["metadata"]["managedFields"][1] is old["metadata"]["managedFields"][1]
    assert trim({**new, "list": []}, old)["list"] == []


def test_true_is_another_value_than_one() -> None:
    trim = transform_of(CONFIG_MAPS, metadata=False)
    old = trim({"metadata": {"name": "a"}, "values": {"a": [1, {"b": 1.0}], "c": 1}})
    new: Document = {"metadata": {"name": "a"}, "values": {"a": [True, {"b": 1}], "c": True}}
    values = trim(new, old)["values"]
    assert values["a"][0] is True
    assert values["c"] is True
    assert type(values["a"][1]["b"]) is int
