"""A kind with every kind of field, for the tests of ownership."""

from __future__ import annotations

from typing import Any

from kapy.kube.apply import Tracker, Types, Write

API = "x.dev/v1"
STRING = {"type": "string"}
PAIR = {"type": "object", "properties": {"a": STRING, "b": STRING}}
SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": STRING,
        "count": {"type": "integer"},
        "flag": {"type": "boolean"},
        "note": {"type": "string", "nullable": True},
        "amount": {"x-kubernetes-int-or-string": True},
        "nested": {"type": "object", "properties": {"left": PAIR, "right": PAIR}},
        "labels": {"type": "object", "additionalProperties": STRING},
        "atom": {**PAIR, "x-kubernetes-map-type": "atomic"},
        "words": {"type": "array", "items": STRING},
        "tags": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
        "byName": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": STRING, "value": STRING, "size": {"type": "integer"}},
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "byPort": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "port": {"type": "integer"},
                    "protocol": {**STRING, "default": "TCP"},
                    "name": STRING,
                },
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
        },
        "loose": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": SPEC,
        "status": {"type": "object", "properties": {"phase": STRING, "ready": STRING}},
    },
}
TRACKER = Tracker({API: Types.of_schema(SCHEMA)})
FIRST, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


def shape(spec: Any = None, **more: Any) -> dict[str, Any]:
    """A Shape as a client sends it; `more` goes beside spec, labels into the metadata."""
    metadata = {"name": "alpha", "namespace": "n"}
    if "labels" in more:
        metadata["labels"] = more.pop("labels")
    document = {"apiVersion": API, "kind": "Shape", "metadata": metadata, **more}
    return document if spec is None else {**document, "spec": spec}


def write(manager: str, time: str = FIRST, subresource: str = "", reset: Any = None) -> Write:
    return Write(manager, API, time, subresource, reset)


def stored(document: dict[str, Any]) -> dict[str, Any]:
    """As the server keeps it: with a uid."""
    return {**document, "metadata": {**document["metadata"], "uid": "u"}}


def made(spec: Any, manager: str = "maker") -> dict[str, Any]:
    """A Shape that `manager` created with POST."""
    return stored(TRACKER.track(None, shape(spec), write(manager)))


def applied(
    live: Any, manager: str, spec: Any, *, force: bool = False, time: str = FIRST
) -> dict[str, Any]:
    """The object after `manager` applied `spec`."""
    return stored(TRACKER.apply(live, shape(spec), write(manager, time), force=force))


def owners(document: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """Fields by manager and operation (and subresource)."""
    return {
        (entry["manager"], entry["operation"] + entry.get("subresource", "")): entry["fieldsV1"]
        for entry in document["metadata"].get("managedFields", [])
    }
