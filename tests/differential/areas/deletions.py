"""Deletes: options in the query and in the body, preconditions, propagation, collections, finalizers."""

from __future__ import annotations

from typing import Final

from tests.differential.case import MERGE_PATCH, Case, Json, Step, patch, request
from tests.differential.draw import Draw
from tests.differential.kinds import (
    CONFIG_MAP,
    DEPLOYMENT,
    LEASE,
    SECRET,
    SERVICE_ACCOUNT,
    SHAPE,
    VERSIONED,
    WIDGET,
    Kind,
)
from tests.differential.mutation import maybe_mutated

KINDS: Final = {
    WIDGET: 3.0,
    SHAPE: 1.0,
    CONFIG_MAP: 3.0,
    SECRET: 1.0,
    LEASE: 0.5,
    DEPLOYMENT: 1.0,
    SERVICE_ACCOUNT: 0.5,
    VERSIONED[1]: 0.5,
}
ACCEPTS: Final = (
    "application/yaml",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "text/html",
    "application/json;q=0.3,application/yaml",
)
OPTIONS: Final[tuple[Json, ...]] = (
    {"propagationPolicy": "Background"},
    {"propagationPolicy": "Foreground"},
    {"propagationPolicy": "Orphan"},
    {"propagationPolicy": "foreground"},
    {"propagationPolicy": ""},
    {"propagationPolicy": "x"},
    {"propagationPolicy": 1},
    {"orphanDependents": True},
    {"orphanDependents": False},
    {"orphanDependents": "x"},
    {"orphanDependents": True, "propagationPolicy": "Orphan"},
    {"gracePeriodSeconds": 0},
    {"gracePeriodSeconds": 5},
    {"gracePeriodSeconds": -1},
    {"gracePeriodSeconds": -5},
    {"gracePeriodSeconds": "x"},
    {"gracePeriodSeconds": 1.5},
    {"dryRun": ["All"]},
    {"dryRun": ["all"]},
    {"dryRun": []},
    {"dryRun": "All"},
    {"dryRun": ["All", "x"]},
    {"preconditions": {"uid": "${uid}"}},
    {"preconditions": {"uid": "other"}},
    {"preconditions": {"uid": ""}},
    {"preconditions": {"resourceVersion": "${rv}"}},
    {"preconditions": {"resourceVersion": "1"}},
    {"preconditions": {"resourceVersion": "x"}},
    {"preconditions": {"resourceVersion": ""}},
    {"preconditions": {"uid": "${uid}", "resourceVersion": "1"}},
    {"preconditions": {"uid": "other", "resourceVersion": "1"}},
    {"preconditions": {}},
    {"preconditions": None},
    {"preconditions": {"x": 1}},
    {"preconditions": "x"},
    {"ignoreStoreReadErrorWithClusterBreakingPotential": True},
    {"ignoreStoreReadErrorWithClusterBreakingPotential": False},
    {"unknown": 1},
    {"kind": "DeleteOptions", "apiVersion": "v1"},
    {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"},
    {"kind": "DeleteOptions", "apiVersion": "apps/v1"},
    {"kind": "DeleteOptions", "apiVersion": "oracle.example.dev/v1"},
    {"kind": "DeleteOptions", "apiVersion": "other/v1"},
    {"kind": "DeleteOptions"},
    {"apiVersion": "v1"},
    {"kind": "Widget", "apiVersion": "oracle.example.dev/v1"},
    {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "x"}},
)
QUERIES: Final[tuple[Json, ...]] = (
    {"propagationPolicy": "Background"},
    {"propagationPolicy": "Foreground"},
    {"propagationPolicy": "Orphan"},
    {"propagationPolicy": "x"},
    {"propagationPolicy": ""},
    {"orphanDependents": "true"},
    {"orphanDependents": "false"},
    {"orphanDependents": "x"},
    {"orphanDependents": "true", "propagationPolicy": "Background"},
    {"gracePeriodSeconds": "0"},
    {"gracePeriodSeconds": "-1"},
    {"gracePeriodSeconds": "x"},
    {"gracePeriodSeconds": "1.5"},
    {"gracePeriodSeconds": ""},
    {"dryRun": "All"},
    {"dryRun": "all"},
    {"dryRun": ""},
    {"dryRun": ["All", "x"]},
    {"uid": "${uid}"},
    {"uid": "other"},
    {"resourceVersion": "${rv}"},
    {"ignoreStoreReadErrorWithClusterBreakingPotential": "true"},
    {"ignoreStoreReadErrorWithClusterBreakingPotential": "x"},
    {"fieldManager": "x"},
    {"unknown": "1"},
)
RAW: Final = (
    "null",
    "{",
    "[]",
    "1",
    '"x"',
    "{}",
    " ",
    "a: b",
    '{"dryRun":["All"]',
    '{"preconditions":[]}',
)


def generate(draw: Draw) -> Case:
    """Objects, with and without finalizers, that are deleted in many ways."""
    kind = draw.weighted(KINDS)
    steps: list[Step] = [_create(draw, kind, "alpha"), _create(draw, kind, "beta")]
    for _ in range(draw.number(5, 10)):
        name = draw.one(("alpha", "beta"))
        steps.append(
            draw.made(
                (
                    (2.0, lambda: _create(draw, kind, name)),
                    (6.0, lambda: _delete(draw, kind, kind.at(name))),
                    (1.5, lambda: _delete_many(draw, kind)),
                    (0.7, lambda: _finalizers(draw, kind, name)),
                    (0.5, lambda: request("GET", kind.at(name))),
                    (0.3, lambda: request("GET", kind.path)),
                )
            )
        )
    return {"steps": steps}


def _create(draw: Draw, kind: Kind, name: str) -> Step:
    meta: Json = {"labels": {"a": draw.one(("1", "2"))}}
    if draw.chance(0.35):
        meta["finalizers"] = draw.one(
            (["a.b/c"], ["a.b/c", "d.e/f"], ["orphan"], ["foregroundDeletion"])
        )
    saved = {"rv": "/metadata/resourceVersion", "uid": "/metadata/uid"}
    return request("POST", kind.path, kind.object(draw, name, **meta), save=saved)


def _delete(draw: Draw, kind: Kind, path: str) -> Step:
    query: Json = dict(draw.one(QUERIES)) if draw.chance(0.3) else {}
    if draw.chance(0.08):
        media = draw.one(("", "application/json", "application/yaml", "text/plain"))
        return request(
            "DELETE", path, raw=draw.one(RAW), query=query, headers={"Content-Type": media}
        )
    headers = {"Accept": draw.one(ACCEPTS)} if draw.chance(0.1) else {}
    if draw.chance(0.3):
        return request("DELETE", path, query=query, headers=headers)
    body: Json = dict(draw.one(OPTIONS)) | (dict(draw.one(OPTIONS)) if draw.chance(0.3) else {})
    return request("DELETE", path, maybe_mutated(draw, body, 0.04), query=query, headers=headers)


def _delete_many(draw: Draw, kind: Kind) -> Step:
    step = _delete(draw, kind, kind.path)
    query = step["request"].setdefault("query", {})
    if draw.chance(0.4):
        query["labelSelector"] = draw.one(("a=1", "a", "!a", "a in (", "b"))
    if draw.chance(0.2):
        query["fieldSelector"] = draw.one(
            ("metadata.name=alpha", "metadata.name!=alpha", "x=y", "=")
        )
    if draw.chance(0.1):
        query |= draw.one(
            (
                {"limit": "1"},
                {"limit": "x"},
                {"resourceVersion": "0"},
                {"continue": "x"},
                {"resourceVersionMatch": "Exact"},
            )
        )
    return step


def _finalizers(draw: Draw, kind: Kind, name: str) -> Step:
    value = draw.one(([], ["a.b/c"], ["x.y/z"], None, ["a.b/c", "x.y/z"]))
    return patch(kind.at(name), MERGE_PATCH, {"metadata": {"finalizers": value}})
