"""Custom objects against their schemas: types, formats, list types, rules, ratcheting, defaults."""

from __future__ import annotations

from typing import Final

from tests.differential.areas import schemas_of
from tests.differential.areas.contents import contents_of, near
from tests.differential.case import JSON_PATCH, MERGE_PATCH, Case, Json, Step, patch, request
from tests.differential.draw import Draw
from tests.differential.initial_objects import BASE, definitions
from tests.differential.kinds import Kind, nothing
from tests.differential.mutation import maybe_mutated

STRICTNESS: Final[tuple[Json, ...]] = (
    {},
    {},
    {},
    {},
    {"fieldValidation": "Strict"},
    {"fieldValidation": "Ignore"},
    {"fieldValidation": "Warn"},
)


def generate(draw: Draw) -> Case:
    """Objects of one of the recordings' kinds, or of a kind made for the case."""
    if draw.chance(0.12):
        return generated(draw)
    value = draw.one(
        [definition for definition in definitions() if definition["spec"]["scope"] == "Namespaced"]
    )
    spec = value["spec"]
    version = draw.one([item for item in spec["versions"] if item["served"]])
    kind = Kind(
        f"{spec['group']}/{version['name']}",
        spec["names"]["kind"],
        spec["names"]["plural"],
        nothing,
    )
    return {"steps": _steps(draw, kind, version["schema"]["openAPIV3Schema"], draw.number(5, 9))}


def generated(draw: Draw) -> Case:
    """Objects of a kind whose schema is made for the case."""
    schema = schemas_of.schema(draw)
    kind = Kind("${u}.example.dev/v1", "Thing", "things", nothing)
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.${u}.example.dev"},
        "spec": {
            "group": "${u}.example.dev",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    **({"subresources": {"status": {}}} if draw.chance(0.3) else {}),
                }
            ],
        },
    }
    served = {**request("GET", kind.path), "until": {"status": 200, "seconds": 20}}
    steps = _steps(draw, kind, schema, 24)
    end = request("DELETE", f"{BASE}/things.${{u}}.example.dev")
    created = {
        **request("POST", BASE, definition),
        "only": ["/kind", "/message", "/details", "/code"],
    }
    return {"steps": [created, served, *steps, {**end, "only": ["/kind", "/message"]}]}


def _steps(draw: Draw, kind: Kind, schema: Json, count: int) -> list[Step]:
    return [_step(draw, kind, schema) for _ in range(count)]


def _body(draw: Draw, kind: Kind, schema: Json, name: str) -> Json:
    contents = contents_of(draw, schema)
    body = kind.object(draw, name) | {
        key: contents[key] for key in contents if key not in ("apiVersion", "kind", "metadata")
    }
    body = near(draw, schema, body)
    return maybe_mutated(draw, body, 0.12, keep=("apiVersion", "kind"))


def _step(draw: Draw, kind: Kind, schema: Json) -> Step:
    name, query = draw.one(("alpha", "beta", "forbidden", "gamma")), draw.one(STRICTNESS)
    how = draw.weighted(
        {"create": 5, "update": 3, "merge": 3, "json": 1, "status": 0.6, "delete": 0.4, "get": 0.3}
    )
    path = kind.at(name)
    if how == "create":
        return request("POST", kind.path, _body(draw, kind, schema, name), query=query)
    if how == "update":
        return request("PUT", path, _body(draw, kind, schema, name), query=query)
    if how == "merge":
        body = contents_of(draw, schema)
        for key in ("apiVersion", "kind", "metadata"):
            body.pop(key, None)
        return patch(
            path, MERGE_PATCH, maybe_mutated(draw, near(draw, schema, body), 0.12), query=query
        )
    if how == "json":
        value = contents_of(draw, schema).get("spec", {})
        return patch(
            path, JSON_PATCH, [{"op": "add", "path": "/spec", "value": value}], query=query
        )
    if how == "status":
        body = _body(draw, kind, schema, name)
        return request("PUT", f"{path}/status", body, query=query)
    return request("DELETE" if how == "delete" else "GET", path)
