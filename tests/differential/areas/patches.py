"""JSON patch, merge patch and strategic merge patch, on built-in and custom kinds."""

from __future__ import annotations

import copy
from typing import Final

from tests.differential.case import (
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    Case,
    Json,
    Step,
    patch,
    request,
)
from tests.differential.draw import Draw
from tests.differential.kinds import (
    CONFIG_MAP,
    DEPLOYMENT,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    SHAPE,
    WIDGET,
    Kind,
    container,
)
from tests.differential.mutation import OTHERS, maybe_mutated, mutated, places

KINDS: Final = {
    WIDGET: 3.0,
    SHAPE: 3.0,
    CONFIG_MAP: 2.0,
    DEPLOYMENT: 3.0,
    SECRET: 0.5,
    SERVICE: 1.0,
    SERVICE_ACCOUNT: 1.0,
}
OPERATIONS: Final = {
    "add": 4.0,
    "remove": 3.0,
    "replace": 4.0,
    "test": 3.0,
    "move": 1.5,
    "copy": 1.5,
    "nonsense": 0.2,
    "": 0.1,
}


def generate(draw: Draw) -> Case:
    """An object that is patched some times."""
    kind = draw.weighted(KINDS)
    document = kind.object(draw, "alpha", labels={"a": "1"}, annotations={"x/y": "1"})
    steps: list[Step] = [request("POST", kind.path, document)]
    for _ in range(draw.number(4, 8)):
        steps.append(
            draw.made(
                (
                    (3.0, lambda: json_patch(draw, kind, document)),
                    (2.0, lambda: merge_patch(draw, kind, document)),
                    (3.0 if "example" not in kind.api else 0.3, lambda: strategic(draw, kind)),
                    (0.2, lambda: odd(draw, kind)),
                )
            )
        )
    return {"steps": steps}


def pointer_of(draw: Draw, path: tuple[str | int, ...]) -> str:
    """A JSON pointer to a place, or near it."""
    parts = [str(part).replace("~", "~0").replace("/", "~1") for part in path]
    pointer = "".join(f"/{part}" for part in parts)
    how = draw.weighted(
        {"": 10, "/-": 1.5, "/new": 1.5, "/0": 0.7, "/99": 0.5, "/-1": 0.3, "/01": 0.1}
    )
    if how == "/new" and draw.chance(0.3):
        return pointer[1:]
    return pointer + how


def json_patch(draw: Draw, kind: Kind, document: Json) -> Step:
    """Operations at places that mostly exist."""
    results = [path for path in places(document) if path[0] not in ("kind", "apiVersion")]
    operations: list[Json] = []
    for _ in range(draw.number(1, 3)):
        operation: Json = {
            "op": draw.weighted(OPERATIONS),
            "path": pointer_of(draw, draw.one(results)),
        }
        if operation["op"] in ("move", "copy"):
            operation["from"] = pointer_of(draw, draw.one(results))
        elif operation["op"] != "remove":
            path = draw.one(results)
            value = document
            for key in path:
                value = value[key]
            operation["value"] = value if draw.chance(0.5) else draw.one(OTHERS)
        operations.append(operation)
    body: Json = maybe_mutated(draw, operations, 0.06)
    return patch(kind.at("alpha"), JSON_PATCH, body, query=_query(draw))


def _query(draw: Draw) -> Json:
    if draw.chance(0.88):
        return {}
    return draw.one(({"dryRun": "All"}, {"fieldValidation": "Strict"}, {"fieldManager": "me"}))


def merge_patch(draw: Draw, kind: Kind, document: Json) -> Step:
    """A part of an object, changed."""
    part = mutated(draw, kind.object(draw, "alpha"))
    for key in ("apiVersion", "kind"):
        if draw.chance(0.9):
            part.pop(key, None)
    if draw.chance(0.3):
        part["metadata"] = {"labels": draw.one(({"b": "2"}, {"a": None}, None, {"a": 1}, [], "x"))}
    elif draw.chance(0.7):
        part.pop("metadata", None)
    return patch(kind.at("alpha"), MERGE_PATCH, maybe_mutated(draw, part, 0.2), query=_query(draw))


KEYED: Final = ("containers", "env", "ports", "volumes")
"""Lists that merge by a key. kube-apiserver panics at an order of other lists of maps."""


def _directives(draw: Draw, node: Json) -> Json:
    """A part with a directive of strategic merge in some place: with two, it depends on the order
    of Go's maps which of them kube-apiserver finds wrong."""
    node = copy.deepcopy(node)
    if draw.chance(0.5):
        return node
    holder = draw.one([node, *_dicts(node)])
    lists = [key for key in holder if isinstance(holder[key], list)]
    how = draw.weighted({"patch": 3.0, "order": 3.0, "delete": 3.0, "retain": 2.0})
    if how == "patch":
        holder["$patch"] = draw.one(("replace", "delete", "merge", "other", 1))
    elif how == "retain":
        holder["$retainKeys"] = draw.one((list(holder), list(holder)[:1], ["name"], "x"))
    elif lists and how == "delete":
        key = draw.one(lists)
        holder[f"$deleteFromPrimitiveList/{key}"] = draw.one((["a"], ["x"], "a", [1]))
        if draw.chance(0.8):
            holder.pop(key)
    elif lists:
        key = draw.one(lists)
        order = [holder[key], [{"name": "main"}, {"name": "side"}], ["a"], "x", []]
        if key in KEYED or not _dicts(holder[key]):
            holder[f"$setElementOrder/{key}"] = draw.one(order)
    return node


def _dicts(node: Json) -> list[Json]:
    values = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    results = [value for value in values if isinstance(value, dict)]
    return results + [item for value in values for item in _dicts(value)]


def strategic(draw: Draw, kind: Kind) -> Step:
    """A strategic merge patch, with directives now and then."""
    if kind is DEPLOYMENT:
        pod = draw.one(
            (
                {"containers": [container(draw, draw.one(("main", "side", "log")))]},
                {"containers": [{"name": "main", "env": [{"name": "A", "value": "9"}]}]},
                {"containers": [{"name": "main", "ports": [{"containerPort": 80, "name": "w"}]}]},
                {"containers": [{"name": "side", "$patch": "delete"}]},
                {"tolerations": [{"key": "a", "operator": "Exists"}]},
                {"volumes": [{"name": "v", "emptyDir": {}}]},
                {"nodeSelector": {"a": draw.one(("b", None))}},
            )
        )
        body: Json = {"spec": {"template": {"spec": pod}}}
        if draw.chance(0.3):
            body["spec"]["strategy"] = draw.one(
                ({"type": "Recreate"}, {"$retainKeys": ["type"], "type": "Recreate"})
            )
    else:
        body = kind.make(draw)
    if draw.chance(0.3):
        body["metadata"] = {
            "labels": draw.one(({"a": None}, {"b": "1"}, {"$patch": "replace", "c": "1"})),
            **draw.one(
                ({}, {"finalizers": ["a.b/c"]}, {"$deleteFromPrimitiveList/finalizers": ["a.b/c"]})
            ),
        }
    plain, body = body, _directives(draw, body)
    if body == plain:
        body = maybe_mutated(draw, body, 0.2)
    return patch(kind.at("alpha"), STRATEGIC_PATCH, body, query=_query(draw))


def odd(draw: Draw, kind: Kind) -> Step:
    """A patch that is none."""
    media = draw.one(
        (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, "application/json", "text/plain", "")
    )
    raw = draw.one(
        ("", "null", "[]", "{}", "1", '"x"', "{", "[{}]", "[null]", "a: b", "[1]", '[{"op":1}]')
    )
    return request("PATCH", kind.at("alpha"), raw=raw, headers={"Content-Type": media})
