"""Conversion webhooks: objects of a kind in several versions, converters that fail in every way, storage
versions that change, lists and watches in another version."""

from __future__ import annotations

from typing import Final

from tests.differential.case import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    Case,
    Json,
    Step,
    collect,
    patch,
    request,
    watch,
)
from tests.differential.draw import Draw
from tests.differential.initial_objects import BASE

GROUP: Final = "${u}.example.dev"
VERSIONS: Final = ("v1", "v1beta1", "v1alpha1")
FIELDS: Final = {
    "replicas": ("replicas", "count", "replicas"),
    "name": ("name", "title", "label"),
    "tags": ("tags", "tags", "marks"),
    "inner": ("inner", "inner", "inner"),
}
"""Fields of the spec, by version."""

LABEL: Final = "x" * 64
WRONG: Final[tuple[tuple[str, Json], ...]] = (
    ("metadata", {"name": "other"}),
    ("metadata", {"namespace": "other"}),
    ("metadata", {"uid": "other"}),
    ("metadata", {"resourceVersion": "1"}),
    ("metadata", {"generation": 99}),
    ("metadata", {"creationTimestamp": "2001-01-01T00:00:00Z"}),
    ("metadata", {"finalizers": ["a.b/hooked"]}),
    ("metadata", {"ownerReferences": []}),
    ("metadata", {"managedFields": []}),
    ("metadata", {"labels": {"hooked": "yes"}}),
    ("metadata", {"annotations": {"hooked": "yes"}}),
    ("metadata", {"labels": None}),
    ("metadata", {"labels": {}}),
    ("metadata", {"labels": {"a": LABEL}}),
    ("metadata", {"labels": {"-a": "x"}}),
    ("metadata", {"labels": {"b": "-"}}),
    ("metadata", {"labels": {"a": 1}}),
    ("metadata", {"labels": {"a": None}}),
    ("metadata", {"labels": ["a"]}),
    ("metadata", {"annotations": {"a/b/c": "x"}}),
    ("metadata", {"annotations": {"A": True}}),
    ("metadata", {"annotations": "x"}),
    ("metadata", {"unknown": 1}),
    ("metadata", {"generateName": "x-"}),
    ("metadata", {"name": 1}),
    ("metadata", {"uid": None}),
    ("lost", "name"),
    ("lost", "namespace"),
    ("lost", "uid"),
    ("lost", "resourceVersion"),
    ("lost", "creationTimestamp"),
    ("no metadata", None),
    ("metadata is", None),
    ("metadata is", {}),
    ("metadata is", "x"),
    ("metadata is", []),
    ("object", {"kind": "Other"}),
    ("object", {"kind": ""}),
    ("object", {"kind": 1}),
    ("object", {"apiVersion": "example.dev/v1"}),
    ("object", {"apiVersion": "v1"}),
    ("object", {"apiVersion": ""}),
    ("object", {"spec": None}),
    ("object", {"spec": "x"}),
    ("object", {"unknown": {"a": 1}}),
    ("object", {"status": {"phase": "Hooked"}}),
    ("no kind", None),
    ("no version", None),
    ("spec", {"unknown": 1}),
    ("spec", {"replicas": "many"}),
    ("spec", {"count": 99, "replicas": 99}),
    ("spec", {"tags": ["x", "x"]}),
    ("spec", {"inner": None}),
    ("reversed", None),
    ("one less", None),
    ("one more", None),
    ("objects", []),
    ("objects", None),
    ("objects", "x"),
    ("objects", {}),
    ("each is", None),
    ("each is", {}),
    ("each is", "x"),
    ("each is", []),
    ("each is", 1),
    ("response", {"uid": "other"}),
    ("response", {"uid": ""}),
    ("response", {"uid": None}),
    ("response", {"result": {"status": "Failure", "message": "cannot do this"}}),
    ("response", {"result": {"status": "Failure"}}),
    (
        "response",
        {"result": {"status": "Failure", "message": "a\nb", "reason": "Odd", "code": 418}},
    ),
    ("response", {"result": {"status": "failed"}}),
    ("response", {"result": {}}),
    ("response", {"result": None}),
    ("response", {"unknown": 1}),
    ("review", {"response": None}),
    ("review", {"response": "x"}),
    ("review", {"kind": "Other"}),
    ("review", {"apiVersion": "apiextensions.k8s.io/v1beta1"}),
    ("review", {"apiVersion": "apiextensions.k8s.io/v2"}),
    ("review", {"apiVersion": ""}),
    ("review", {"request": None}),
    ("nothing", None),
)
BROKEN: Final[tuple[Json, ...]] = (
    {"http": 500, "text": "no"},
    {"http": 404, "text": "no"},
    {"http": 302, "text": ""},
    {"text": ""},
    {"text": "x"},
    {"text": "[]"},
    {"text": "null"},
    {"text": '{"kind":'},
)


def generate(draw: Draw) -> Case:
    """A kind, and requests for it in all of its versions while its converter does well and fails."""
    names = [dict(zip(VERSIONS, names, strict=True)) for names in FIELDS.values()]
    good: Json = {"conversion": {"rename": names}}
    created = {**request("POST", BASE, _definition(draw)), "only": ["/kind", "/message", "/code"]}
    steps: list[Step] = [created]
    for version in VERSIONS[:2]:
        served = request("GET", _at(version))
        steps.append({**served, "until": {"status": 200, "seconds": 20}})
    for _ in range(draw.number(1, 3)):
        steps += _well(draw)
    if draw.chance(0.3):
        steps += _moved(draw)
        steps += _well(draw)
    # Last, as kube-apiserver lists nothing for seconds after it failed to convert an object.
    for _ in range(draw.number(2, 6)):
        steps += _ill(draw, good)
    steps.append({**request("DELETE", _crd()), "only": ["/kind"]})
    return {"setup": [], "steps": steps, "webhooks": {"convert": good}, "needs": ["webhooks"]}


def _crd() -> str:
    return f"{BASE}/things.{GROUP}"


def _at(version: str, name: str = "", part: str = "") -> str:
    path = f"/apis/{GROUP}/{version}/namespaces/${{ns}}/things"
    return "/".join(filter(None, (path, name, part)))


def _definition(draw: Draw) -> Json:
    stored = draw.weighted({"v1": 3, "v1beta1": 2, "v1alpha1": 1})
    versions = [_version(draw, name, storage=name == stored) for name in VERSIONS]
    hook = {
        "conversionReviewVersions": draw.one(
            (["v1"], ["v1"], ["v1beta1"], ["v1", "v1beta1"], ["v3", "v1beta1", "v1"])
        ),
        "clientConfig": {"url": "${webhook}/convert", "caBundle": "${ca}"},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": versions,
            "conversion": {"strategy": "Webhook", "webhook": hook},
        },
    }


def _version(draw: Draw, version: str, *, storage: bool) -> Json:
    at = VERSIONS.index(version)
    fields: Json = {
        "replicas": {"type": "integer", "minimum": 0},
        "name": {"type": "string", "maxLength": 8},
        "tags": {
            "type": "array",
            "items": {"type": "string"},
            "x-kubernetes-list-type": draw.one(("set", "atomic")),
        },
        "inner": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "integer", "default": at}},
        },
    }
    if draw.chance(0.3):
        fields["replicas"]["default"] = at + 1
    if draw.chance(0.2):
        fields["name"]["default"] = version
    spec: Json = {
        "type": "object",
        "properties": {FIELDS[name][at]: field for name, field in fields.items()},
    }
    if draw.chance(0.2):
        spec["x-kubernetes-preserve-unknown-fields"] = True
    if draw.chance(0.15):
        spec["required"] = [FIELDS["name"][at]]
    replicas = FIELDS["replicas"][at]
    status: Json = {
        "type": "object",
        "properties": {
            FIELDS["replicas"][at]: {"type": "integer"},
            "phase": {"type": "string"},
        },
    }
    out: Json = {
        "name": version,
        "served": storage or version != "v1alpha1" or draw.chance(0.6),
        "storage": storage,
        "schema": {
            "openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}
        },
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": f".spec.{replicas}",
                "statusReplicasPath": f".status.{replicas}",
            },
        },
    }
    if draw.chance(0.3):
        out["additionalPrinterColumns"] = [
            {"name": "Replicas", "type": "integer", "jsonPath": f".spec.{replicas}"}
        ]
    if draw.chance(0.3):
        out["selectableFields"] = [{"jsonPath": f".spec.{FIELDS['name'][at]}"}]
    return out


def _name(draw: Draw) -> str:
    return draw.one(("alpha", "alpha", "beta", "gamma"))


def _any_version(draw: Draw) -> str:
    return draw.weighted({"v1": 4, "v1beta1": 4, "v1alpha1": 1})


def _spec(draw: Draw, version: str) -> Json:
    at = VERSIONS.index(version)
    values: Json = {
        "replicas": draw.one((0, 1, 5, -1)) if draw.chance(0.95) else "x",
        "name": draw.one(("n", "m", "v1")),
        "tags": draw.one((["a"], ["a", "b"], [], None)),
        "inner": draw.one(({"a": "x"}, {"b": 7}, {})),
    }
    spec = {FIELDS[name][at]: values[name] for name in draw.some(list(values))}
    if draw.chance(0.1):
        spec[draw.one(("unknown", "count", "replicas", "title"))] = draw.one((1, "x"))
    return spec


def _body(draw: Draw, version: str, name: str) -> Json:
    meta: Json = {"name": name}
    if draw.chance(0.4):
        meta["labels"] = {"a": draw.one(("1", "2"))}
    if draw.chance(0.1):
        meta["annotations"] = {"n": "1"}
    if draw.chance(0.05):
        meta["finalizers"] = ["a.b/c"]
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Thing",
        "metadata": meta,
        "spec": _spec(draw, version),
    }


QUERIES: Final[tuple[Json, ...]] = (
    {},
    {},
    {},
    {"dryRun": "All"},
    {"fieldValidation": "Strict"},
    {"fieldManager": "m"},
)
TABLE: Final = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


def _write(draw: Draw) -> Step:
    version, name, query = _any_version(draw), _name(draw), draw.one(QUERIES)
    path, body = _at(version, name), _body(draw, version, name)
    at = VERSIONS.index(version)
    manager = {
        "fieldManager": draw.one(("m", "n")),
        **({"force": "true"} if draw.chance(0.6) else {}),
    }
    replicas = FIELDS["replicas"][at]
    return draw.made(
        (
            (4.0, lambda: request("POST", _at(version), body, query=query)),
            (2.0, lambda: request("PUT", path, body, query=query)),
            (2.0, lambda: patch(path, MERGE_PATCH, {"spec": body["spec"]}, query=query)),
            (1.0, lambda: patch(path, MERGE_PATCH, {"metadata": {"labels": {"a": "3"}}})),
            (
                1.0,
                lambda: patch(
                    path, JSON_PATCH, [{"op": "add", "path": f"/spec/{replicas}", "value": 4}]
                ),
            ),
            (1.5, lambda: patch(path, APPLY_PATCH, body, query=manager)),
            (
                0.7,
                lambda: patch(
                    _at(version, name, "status"),
                    MERGE_PATCH,
                    {"status": {replicas: 2, "phase": "P"}},
                ),
            ),
            (
                0.7,
                lambda: patch(_at(version, name, "scale"), MERGE_PATCH, {"spec": {"replicas": 3}}),
            ),
            (0.8, lambda: request("DELETE", path)),
        )
    )


def _first_write(draw: Draw) -> Step:
    """A write that sees the stored object. kube-apiserver takes the object to change from a cache
    for each version, so which conversion of an update fails first depends on what is cached."""
    version, name = _any_version(draw), _name(draw)
    if draw.chance(0.3):
        return request("DELETE", _at(version, name))
    return request("POST", _at(version), _body(draw, version, name), query=draw.one(QUERIES))


def _read(draw: Draw) -> Step:
    version, name = _any_version(draw), _name(draw)
    return draw.made(
        (
            (3.0, lambda: request("GET", _at(version, name))),
            (0.5, lambda: request("GET", _at(version, name, "scale"))),
            (0.5, lambda: request("GET", _at(version, name, "status"))),
            (0.5, lambda: request("GET", _at(version, name), headers=TABLE)),
        )
    )


def _list(draw: Draw) -> Step:
    version = _any_version(draw)
    query: Json = draw.one(
        ({}, {}, {"limit": "1"}, {"labelSelector": "a=1"}, {"fieldSelector": "metadata.name=alpha"})
    )
    return request("GET", _at(version), query=query, headers=TABLE if draw.chance(0.2) else {})


def _well(draw: Draw) -> list[Step]:
    """Requests while conversion works, some of them seen by a watch."""
    steps = [
        draw.made(
            ((6.0, lambda: _write(draw)), (2.0, lambda: _read(draw)), (1.5, lambda: _list(draw)))
        )
        for _ in range(draw.number(4, 10))
    ]
    if draw.chance(0.25):
        query = draw.one(({}, {"labelSelector": "a=1"}))
        opened = watch(_at(draw.one(VERSIONS[:2])), query=query)
        steps = [opened, *steps, collect(seconds=2)]
    return steps


def _ill(draw: Draw, good: Json) -> list[Step]:
    """Requests for single objects while conversion fails, and the first after that."""
    what, value = draw.one(WRONG)
    answer: Json = {"conversion": {**good["conversion"], "wrong": what, "with": value}}
    if draw.chance(0.4):
        answer["conversion"]["only"] = f"{GROUP}/{draw.one(VERSIONS)}"
    if draw.chance(0.1):
        answer = draw.one(BROKEN)
    steps = [
        draw.made(((3.0, lambda: _first_write(draw)), (3.0, lambda: _read(draw))))
        for _ in range(draw.number(2, 5))
    ]
    after = [_read(draw)]
    well: Step = {"hook": "convert", "answer": good}
    return [{"hook": "convert", "answer": answer}, *steps, well, *after]


def _moved(draw: Draw) -> list[Step]:
    """Another version is the storage version from now on."""
    number = draw.number(0, 1)
    changes = [
        {"op": "replace", "path": f"/spec/versions/{n}/storage", "value": n == number}
        for n in (0, 1, 2)
    ]
    changed = {**patch(_crd(), JSON_PATCH, changes), "only": ["/kind", "/message", "/code"]}
    stored = {**request("GET", _crd()), "only": ["/status/storedVersions"]}
    return [changed, {"sleep": 10.0}, stored]
