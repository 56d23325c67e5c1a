"""Metadata: names, generateName, labels, annotations, owners, finalizers, what is immutable."""

from __future__ import annotations

from typing import Final

from tests.differential.case import MERGE_PATCH, Case, Json, Step, patch, request
from tests.differential.draw import Draw
from tests.differential.kinds import (
    CONFIG_MAP,
    GADGET,
    LEASE,
    ROLE,
    SECRET,
    SERVICE,
    SHAPE,
    WIDGET,
    Kind,
)
from tests.differential.mutation import maybe_mutated

KINDS: Final = {
    WIDGET: 3.0,
    SHAPE: 2.0,
    CONFIG_MAP: 2.0,
    SECRET: 0.5,
    LEASE: 0.5,
    ROLE: 0.5,
    SERVICE: 0.5,
}
NAMES: Final = (
    "ok", "a.b", "a-b", "0", "1a", "A", "a_b", "-a", "a-", ".", "..", "a..b", "a/b", "a%b", "a:b", "é", " ",
    "a" * 63, "a" * 64, "a" * 253, "a" * 254, "", "a b", "a.", "x" * 300,
)  # fmt: skip
KEYS: Final = (
    "a", "a/b", "a.b/c", "a/b/c", "/a", "a/", "A.b/c", "-a", "a b", "", "a_b", "é", "k" * 63, "k" * 64,
    "p" * 253 + "/k", "p" * 254 + "/k", "kubernetes.io/x", "a..b/c", "a.b/",
)  # fmt: skip
VALUES: Final[tuple[Json, ...]] = (
    "",
    "a",
    "A_b.c",
    "-a",
    "a b",
    "é",
    "v" * 63,
    "v" * 64,
    None,
    1,
    True,
    [],
    {},
)
FINALIZERS: Final = (
    "a.b/c", "x/y", "plain", "foregroundDeletion", "orphan", "kubernetes", "a b", "", "A/b", "a/b/c", "/x",
    "kubernetes.io/pv", "metadata.finalizers/x", "é/x", "foregroundDeletion", "n" * 70, "a.b/" + "n" * 64,
)  # fmt: skip


def generate(draw: Draw) -> Case:
    """Objects whose metadata is strange."""
    kind = GADGET if draw.chance(0.1) else draw.weighted(KINDS)
    saved = {"rv": "/metadata/resourceVersion", "uid": "/metadata/uid"}
    first = kind.object(draw, "alpha", **_metadata(draw, legal=True))
    steps: list[Step] = [request("POST", kind.path, first, save=saved)]
    for _ in range(draw.number(4, 8)):
        steps.append(
            draw.made(
                (
                    (3.0, lambda: _create(draw, kind)),
                    (2.0, lambda: _update(draw, kind)),
                    (4.0, lambda: _patch(draw, kind)),
                    (0.5, lambda: request("DELETE", kind.at("alpha"))),
                    (0.4, lambda: request("GET", kind.at("alpha"))),
                )
            )
        )
    return {"steps": steps}


def _map(draw: Draw, *, legal: bool) -> Json:
    if legal:
        return {draw.one(KEYS[:3]): draw.one(("", "a", "b")) for _ in range(draw.number(0, 2))}
    return {draw.one(KEYS): draw.one(VALUES) for _ in range(draw.number(1, 2))}


def owner(draw: Draw, *, legal: bool) -> Json:
    """An owner reference."""
    result: Json = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": draw.one(("o", "p")),
        "uid": "${uid}",
    }
    if draw.chance(0.3):
        result["controller"] = draw.chance(0.6)
    if draw.chance(0.2):
        result["blockOwnerDeletion"] = draw.chance(0.5)
    if legal:
        return {**result, "uid": f"u-{result['name']}"}
    if draw.chance(0.4):
        field = draw.one(("apiVersion", "kind", "name", "uid"))
        result[field] = draw.one(("", "a/b/c", "v1", "/", "x/"))
    elif draw.chance(0.2):
        result |= draw.one(({"apiVersion": "v1", "kind": "Event"}, {"kind": "List"}, {"x": 1}))
    elif draw.chance(0.3):
        result.pop(draw.one(("apiVersion", "kind", "name", "uid")))
    return result


def _metadata(draw: Draw, *, legal: bool) -> Json:
    """Some fields of metadata."""
    count = draw.number(1, 2)
    meta: Json = {}
    for _ in range(count):
        field = draw.weighted(
            {
                "labels": 3,
                "annotations": 2,
                "finalizers": 3,
                "ownerReferences": 2,
                "server": 0 if legal else 1.5,
            }
        )
        if field in ("labels", "annotations"):
            meta[field] = _map(draw, legal=legal)
        elif field == "finalizers":
            names = FINALIZERS[:2] if legal else FINALIZERS
            meta[field] = [draw.one(names) for _ in range(draw.number(0, 2))]
        elif field == "ownerReferences":
            meta[field] = [owner(draw, legal=legal) for _ in range(draw.number(0, 2))]
        else:
            meta |= draw.one(
                (
                    {"creationTimestamp": "2020-01-01T00:00:00Z"},
                    {"creationTimestamp": None},
                    {"creationTimestamp": "x"},
                    {"deletionTimestamp": "2020-01-01T00:00:00Z"},
                    {"deletionGracePeriodSeconds": 5},
                    {"deletionGracePeriodSeconds": -5},
                    {"generation": 7},
                    {"generation": -7},
                    {"uid": "mine"},
                    {"selfLink": "/x"},
                    {"resourceVersion": "5"},
                    {"namespace": "other"},
                    {"clusterName": "x"},
                    {"unknown": "x"},
                    {"generateName": "gen-"},
                    {"generateName": "Gen_"},
                    {"generateName": 1},
                    {"managedFields": [{"manager": "x"}]},
                    {"annotations": {"big": "x" * 262145}},
                )
            )
    return meta


def _query(draw: Draw) -> Json:
    if draw.chance(0.85):
        return {}
    return draw.one(
        ({"fieldValidation": "Strict"}, {"dryRun": "All"}, {"fieldValidation": "Ignore"})
    )


def _create(draw: Draw, kind: Kind) -> Step:
    meta = _metadata(draw, legal=False) if draw.chance(0.6) else {}
    name = draw.one(NAMES) if draw.chance(0.5) else draw.one(("beta", "gamma"))
    body = kind.object(draw, "beta", **meta)
    # All cases share the cluster-scoped objects, so their names contain the word of the run.
    body["metadata"]["name"] = name if kind.namespaced else f"${{u}}{name}"
    if draw.chance(0.2):
        body["metadata"].pop("name")
        body["metadata"]["generateName"] = draw.one(
            ("gen-", "g.", "G", "a" * 62, "-", "x" * 253, "_")
        )
    return request("POST", kind.path, maybe_mutated(draw, body, 0.05), query=_query(draw))


def _update(draw: Draw, kind: Kind) -> Step:
    meta = _metadata(draw, legal=draw.chance(0.4))
    body = kind.object(draw, "alpha", **meta)
    return request("PUT", kind.at("alpha"), maybe_mutated(draw, body, 0.05), query=_query(draw))


def _patch(draw: Draw, kind: Kind) -> Step:
    meta = _metadata(draw, legal=draw.chance(0.4))
    body = maybe_mutated(draw, {"metadata": meta}, 0.1)
    part = "status" if kind.status and draw.chance(0.1) else ""
    return patch(kind.at("alpha", part), MERGE_PATCH, body, query=_query(draw))
