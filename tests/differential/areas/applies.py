"""Server-side apply: conflicts, managers, force, parts, lists and maps of every type, versions."""

from __future__ import annotations

from typing import Final

from tests.differential.case import APPLY_PATCH, MERGE_PATCH, Case, Json, Step, patch, request
from tests.differential.draw import Draw
from tests.differential.kinds import (
    CONFIG_MAP,
    DEPLOYMENT,
    SERVICE,
    SHAPE,
    VERSIONED,
    WIDGET,
    Kind,
    shape_status,
    widget_status,
)
from tests.differential.mutation import maybe_mutated, mutated

MANAGERS: Final = ("one", "two", "three")
KINDS: Final = {SHAPE: 5.0, WIDGET: 3.0, CONFIG_MAP: 1.5, DEPLOYMENT: 1.5, SERVICE: 0.7}


def generate(draw: Draw) -> Case:
    """An object that several managers apply and write."""
    kinds = VERSIONED if draw.chance(0.2) else (draw.weighted(KINDS),)
    steps: list[Step] = []
    if draw.chance(0.3):
        steps.append(request("POST", kinds[0].path, kinds[0].object(draw, "alpha")))
    for _ in range(draw.number(4, 9)):
        kind = draw.one(kinds)
        steps.append(
            draw.made(
                (
                    (6.0, lambda: apply(draw, kind)),
                    (1.0 if kind.status else 0.0, lambda: apply_status(draw, kind)),
                    (1.5 if kind.scale else 0.0, lambda: scale(draw, kind)),
                    (0.7, lambda: update(draw, kind)),
                    (0.7, lambda: merge(draw, kind)),
                    (0.4, lambda: tamper(draw, kind)),
                    (0.3, lambda: odd(draw, kind)),
                    (0.3, lambda: request("GET", kind.at("alpha"))),
                    (0.2, lambda: request("DELETE", kind.at("alpha"))),
                )
            )
        )
    return {"steps": steps}


def _query(draw: Draw) -> Json:
    query: Json = {"fieldManager": draw.one(MANAGERS)}
    if draw.chance(0.35):
        query["force"] = draw.one(("true", "true", "false", "1", ""))
    if draw.chance(0.06):
        query["dryRun"] = "All"
    if draw.chance(0.06):
        query["fieldValidation"] = draw.one(("Strict", "Ignore", "Warn", "x"))
    if draw.chance(0.03):
        query.pop("fieldManager")
    return query


def apply(draw: Draw, kind: Kind) -> Step:
    """An apply of an object."""
    body = kind.object(draw, "alpha")
    if draw.chance(0.15):
        body["metadata"]["labels"] = {draw.one(("a", "b")): draw.one(("1", "2"))}
    if draw.chance(0.05):
        body["metadata"]["finalizers"] = draw.one((["a.b/c"], ["a.b/c", "d.e/f"], []))
    if draw.chance(0.06):
        body["metadata"] |= draw.one(
            (
                {"resourceVersion": "1"},
                {"managedFields": []},
                {"uid": "x"},
                {"name": "other"},
                {"namespace": "other"},
                {"generateName": "x"},
                {"ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u"}]},
            )
        )
    if draw.chance(0.1) and kind.status:
        body["status"] = _status(draw, kind)
    return patch(kind.at("alpha"), APPLY_PATCH, _faulty(draw, kind, body, 0.12), query=_query(draw))


def _faulty(draw: Draw, kind: Kind, body: Json, share: float) -> Json:
    """Return the applied object, with at most one randomly chosen fault."""
    undeclared = kind in VERSIONED and len(set(body.get("spec") or ()) & {"a", "b", "c"}) > 0
    return mutated(draw, body) if draw.chance(share) and not undeclared else body


def _status(draw: Draw, kind: Kind) -> Json:
    """A status, which has at most one unknown field: which of several is named is chance."""
    if kind is WIDGET:
        return widget_status(draw)
    if kind is SHAPE:
        return shape_status(draw)
    return draw.one(({"replicas": 1}, {"replicas": 2}, {"phase": "x"}, {}))


def apply_status(draw: Draw, kind: Kind) -> Step:
    """An apply of a status."""
    body = kind.object(draw, "alpha")
    body["status"] = _status(draw, kind)
    if draw.chance(0.7):
        body.pop("spec")
    body = _faulty(draw, kind, body, 0.08)
    return patch(kind.at("alpha", "status"), APPLY_PATCH, body, query=_query(draw))


def scale(draw: Draw, kind: Kind) -> Step:
    """A write of a Scale, by apply or another way."""
    body: Json = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": kind.named("alpha")},
        "spec": {"replicas": draw.number(0, 5)},
    }
    if draw.chance(0.15):
        body = mutated(draw, body)
    path, query = kind.at("alpha", "scale"), _query(draw)
    how = draw.weighted({"apply": 5, "put": 1, "merge": 1, "get": 0.5})
    if how == "apply":
        return patch(path, APPLY_PATCH, body, query=query)
    if how == "put":
        query.pop("force", None)
        return request("PUT", path, body, query=query)
    if how == "merge":
        query.pop("force", None)
        return patch(path, MERGE_PATCH, {"spec": {"replicas": draw.number(0, 5)}}, query=query)
    return request("GET", path)


def update(draw: Draw, kind: Kind) -> Step:
    """An update by one of the managers."""
    manager = {"fieldManager": draw.one(MANAGERS)}
    return request("PUT", kind.at("alpha"), kind.object(draw, "alpha"), query=manager)


def merge(draw: Draw, kind: Kind) -> Step:
    """A merge patch by one of the managers."""
    body = maybe_mutated(draw, kind.make(draw), 0.1)
    return patch(kind.at("alpha"), MERGE_PATCH, body, query={"fieldManager": draw.one(MANAGERS)})


def tamper(draw: Draw, kind: Kind) -> Step:
    """A write of managedFields."""
    entry: Json = {
        "manager": draw.one(MANAGERS),
        "operation": draw.one(("Apply", "Update", "Other", "")),
        "apiVersion": draw.one((kind.api, kind.api, "v9", "")),
        "fieldsType": draw.one(("FieldsV1", "FieldsV1", "FieldsV2", "")),
        "fieldsV1": draw.one(
            (
                {"f:spec": {"f:size": {}}},
                {"f:metadata": {"f:labels": {"f:a": {}}}},
                {},
                {"x": {}},
                None,
            )
        ),
        **draw.one(({}, {"time": "2020-01-01T00:00:00Z"}, {"subresource": "status"})),
    }
    entries: Json = draw.one(([], [{}], [entry], [entry], [entry], [entry, entry], None))
    return patch(kind.at("alpha"), MERGE_PATCH, {"metadata": {"managedFields": entries}})


def odd(draw: Draw, kind: Kind) -> Step:
    """An apply whose body is hardly an object."""
    raw = draw.one(
        (
            "",
            "null",
            "{}",
            "[]",
            "a: b",
            "{",
            "x",
            "- a",
            "apiVersion: v1\nkind: ConfigMap\n",
            "a: b\na: c\n",
            "1",
        )
    )
    return request(
        "PATCH",
        kind.at("alpha"),
        raw=raw,
        headers={"Content-Type": APPLY_PATCH},
        query=_query(draw),
    )
