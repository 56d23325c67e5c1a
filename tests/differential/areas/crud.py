"""Create, get, update and delete with their options, media types and broken bodies."""

from __future__ import annotations

from typing import Final

from tests.differential.case import MERGE_PATCH, Case, Json, Step, patch, request
from tests.differential.draw import Draw
from tests.differential.kinds import CUSTOM, SMALL, Kind
from tests.differential.mutation import maybe_mutated

NAMES: Final = ("alpha", "beta")
QUERIES: Final[tuple[Json, ...]] = (
    {"dryRun": "All"},
    {"dryRun": "all"},
    {"dryRun": ""},
    {"dryRun": ["All", "All"]},
    {"dryRun": ["All", "None"]},
    {"fieldManager": "me"},
    {"fieldManager": "x" * 129},
    {"fieldManager": "a\nb"},
    {"fieldManager": ""},
    {"fieldValidation": "Strict"},
    {"fieldValidation": "Warn"},
    {"fieldValidation": "Ignore"},
    {"fieldValidation": "strict"},
    {"fieldValidation": ""},
    {"pretty": "true"},
    {"pretty": "0"},
    {"force": "true"},
    {"force": "x"},
    {"unknown": "1"},
    {"timeoutSeconds": "x"},
    {"timeout": "1s"},
    {"timeout": "x"},
    {"dryRun": "All", "fieldValidation": "Strict"},
    {"dryRun": "none", "fieldManager": "x" * 129},
    {"dryRun": "x", "fieldValidation": "y"},
)
MEDIA: Final = (
    "application/json",
    "application/json; charset=utf-8",
    "application/json;stream=watch",
    "APPLICATION/JSON",
    "application/yaml",
    "application/xml",
    "text/plain",
    "application/vnd.kubernetes.protobuf",
    "application/cbor",
    "application/x-www-form-urlencoded",
    "application/merge-patch+json",
    "nonsense",
    "a/b/c",
    "",
)
ACCEPTS: Final = (
    "application/json",
    "*/*",
    "application/*",
    "text/html",
    "text/html, application/json;q=0.5",
    "application/yaml",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
    "application/json;as=Table;v=v2;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;as=Nothing;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    "nonsense",
    "application/json;pretty=1",
    "application/json;stream=watch",
    "",
    "application/json;q=0.3,application/yaml;q=0.7",
    "application/yaml;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io",
    "application/json;sv=v2",
    "application/*;q=0.2,text/plain",
)
BROKEN: Final = (
    "",
    "null",
    "{}",
    "[]",
    '"text"',
    "1",
    "true",
    "{",
    "not json",
    '{"a":1',
    '{"apiVersion":"v1"}',
    '{"kind":"ConfigMap"}',
    '{"kind":1}',
    '{"apiVersion":1,"kind":"Widget"}',
    '{"metadata":null}',
    '{"metadata":[]}',
    '{"metadata":"x"}',
    "a: b",
    "{}{}",
    "{} x",
    '{"kind":"Widget","kind":"Gadget"}',
    " ",
    "\n",
    '{"metadata":{"name":1}}',
    '{"metadata":{"labels":"x"}}',
)


def generate(draw: Draw) -> Case:
    """A life of one or two objects of a kind."""
    kind = draw.one(CUSTOM if draw.chance(0.6) else SMALL)
    steps: list[Step] = [create(draw, kind, NAMES[0])]
    for _ in range(draw.number(4, 9)):
        steps.append(
            draw.made(
                (
                    (2.0, lambda: create(draw, kind, draw.one(NAMES))),
                    (1.5, lambda: get(draw, kind)),
                    (2.5, lambda: update(draw, kind)),
                    (1.0, lambda: merge(draw, kind)),
                    (1.0, lambda: delete(draw, kind)),
                    (1.5, lambda: broken(draw, kind)),
                    (1.0, lambda: generated_name(draw, kind)),
                    (1.5, lambda: part(draw, kind)),
                    (0.7, lambda: owned(draw, kind)),
                )
            )
        )
    return {"steps": steps}


def options(draw: Draw) -> Json:
    """Query parameters, mostly none."""
    query = dict(draw.one(QUERIES)) if draw.chance(0.35) else {}
    return query | (dict(draw.one(QUERIES)) if draw.chance(0.05) else {})


def headers(draw: Draw) -> dict[str, str]:
    """Headers, mostly none."""
    result = {}
    if draw.chance(0.08):
        result["Accept"] = draw.one(ACCEPTS)
    if draw.chance(0.06):
        result["Content-Type"] = draw.one(MEDIA)
    return result


def _object(draw: Draw, kind: Kind, name: str, **meta: Json) -> Json:
    document = kind.object(draw, name, **meta)
    if draw.chance(0.1):
        document["metadata"].pop("name", None)
    if draw.chance(0.06):
        document["metadata"]["namespace"] = draw.one(("${ns}", "other", ""))
    if draw.chance(0.05):
        document[draw.one(("apiVersion", "kind"))] = draw.one(("v1", "Other", "", "a/b/c"))
    return maybe_mutated(draw, document, 0.2)


def create(draw: Draw, kind: Kind, name: str) -> Step:
    """A create."""
    path = kind.path if draw.chance(0.95) else kind.at(name)
    meta = {"resourceVersion": draw.one(("1", "", "0", "x"))} if draw.chance(0.05) else {}
    saved = {"rv": "/metadata/resourceVersion", "uid": "/metadata/uid"}
    body = _object(draw, kind, name, **meta)
    more = {"query": options(draw), "headers": headers(draw)}
    return request("POST", path, body, **more, save=saved)


def generated_name(draw: Draw, kind: Kind) -> Step:
    """A create whose name the server makes."""
    meta: Json = {"generateName": draw.one(("gen-", "a", "Bad_", "", "x" * 70))}
    if draw.chance(0.1):
        meta["name"] = kind.named(draw.one(NAMES))
    body = {**kind.object(draw, "x"), "metadata": meta}
    return request("POST", kind.path, body, query=options(draw), headers=headers(draw))


def part(draw: Draw, kind: Kind) -> Step:
    """A write or a read of the status or the scale of an object."""
    name, which = draw.one(NAMES), draw.one(("status", "scale"))
    path, replicas = kind.at(name, which), draw.one((0, 1, 3, -1, "x", None))
    body: Json
    if which == "status":
        body = {"status": {"phase": draw.one(("Pending", "x")), "replicas": replicas}}
    else:
        body = {"spec": {"replicas": replicas}}
    method = draw.weighted({"GET": 1, "PATCH": 3, "PUT": 2, "POST": 0.2, "DELETE": 0.2})
    more = {"query": options(draw), "headers": headers(draw)}
    if method == "GET":
        return request(method, path, **more)
    if method == "PATCH":
        if draw.chance(0.2):
            body["metadata"] = {"labels": {"a": "p"}, "resourceVersion": draw.one(("1", "${rv}"))}
        return patch(path, MERGE_PATCH, body, query=options(draw))
    meta: Json = {"name": kind.named(name)}
    if draw.chance(0.5):
        meta["resourceVersion"] = draw.one(("${rv}", "${rv}", "1", "x"))
    if which == "scale":
        document = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": meta, **body}
    else:
        document = {**kind.object(draw, name), "metadata": meta, **body}
    return request(method, path, maybe_mutated(draw, document, 0.15), **more)


def owned(draw: Draw, kind: Kind) -> Step:
    """A change of owners and finalizers."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": draw.one(("u", "${uid}"))}
    meta = {
        "ownerReferences": draw.one(([], [owner], [owner, owner], [{**owner, "controller": True}])),
        "finalizers": draw.one(([], ["a.b/c"], ["a.b/c", "a.b/d"], None)),
    }
    return patch(kind.at(draw.one(NAMES)), MERGE_PATCH, {"metadata": meta}, query=options(draw))


def get(draw: Draw, kind: Kind) -> Step:
    """A get, now and then of a part."""
    part = draw.one(("status", "scale", "other")) if draw.chance(0.15) else ""
    query = {} if draw.chance(0.8) else draw.one(({"resourceVersion": "0"}, {"pretty": "1"}))
    if draw.chance(0.05):
        query = {"resourceVersion": draw.one(("x", "-1", "1", "99999999"))}
    path = kind.at(draw.one((*NAMES, "gamma")), part)
    return request("GET", path, query=query, headers=headers(draw))


def update(draw: Draw, kind: Kind) -> Step:
    """An update, with or without preconditions."""
    name = draw.one(NAMES)
    meta: Json = {}
    if draw.chance(0.5):
        meta["resourceVersion"] = draw.one(("${rv}", "${rv}", "${rv}", "1", "x", "0", ""))
    if draw.chance(0.15):
        meta["uid"] = draw.one(("${uid}", "other", ""))
    part = draw.one(("status", "other")) if draw.chance(0.15) else ""
    body = _object(draw, kind, name if draw.chance(0.95) else "other", **meta)
    if part and kind.status:
        body["status"] = {"phase": draw.one(("Pending", "Running", "x"))}
    saved = {"rv": "/metadata/resourceVersion"} if draw.chance(0.7) else None
    more = {"query": options(draw), "headers": headers(draw)}
    return request("PUT", kind.at(name, part), body, **more, save=saved)


def merge(draw: Draw, kind: Kind) -> Step:
    """A small patch, with or without preconditions."""
    meta: Json = {"labels": {"a": draw.one(("1", "2"))}}
    if draw.chance(0.3):
        meta["resourceVersion"] = draw.one(("${rv}", "1", "x", None, "0", 1))
    if draw.chance(0.2):
        meta["uid"] = draw.one(("${uid}", "other", None))
    if draw.chance(0.1):
        meta["name"] = "other"
    body = maybe_mutated(draw, {"metadata": meta}, 0.1)
    return patch(kind.at(draw.one(NAMES)), MERGE_PATCH, body, query=options(draw))


def delete(draw: Draw, kind: Kind) -> Step:
    """A delete."""
    path = kind.at(draw.one(NAMES))
    if draw.chance(0.5):
        return request("DELETE", path, query=options(draw), headers=headers(draw))
    body = draw.one(({}, {"kind": "DeleteOptions", "apiVersion": "v1"}, {"dryRun": ["All"]}))
    return request("DELETE", path, body, query=options(draw), headers=headers(draw))


def broken(draw: Draw, kind: Kind) -> Step:
    """A write whose body is hardly an object."""
    method = draw.one(("POST", "PUT", "PATCH", "DELETE"))
    path = kind.path if method == "POST" else kind.at(draw.one(NAMES))
    media = {"Content-Type": MERGE_PATCH} if method == "PATCH" else headers(draw)
    return request(method, path, raw=draw.one(BROKEN), headers=media, query=options(draw))
