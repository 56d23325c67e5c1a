"""Watches: from where, with which selectors, in which form; and what they see of writes."""

from __future__ import annotations

from typing import Final

from tests.differential.areas.lists import ACCEPTS
from tests.differential.case import MERGE_PATCH, Case, Json, Step, collect, patch, request, watch
from tests.differential.draw import Draw
from tests.differential.kinds import CONFIG_MAP, LEASE, SECRET, SHAPE, VERSIONED, WIDGET, Kind

LABELS: Final = ("a", "!a", "a=1", "a!=1", "a in (1,2)", "b", "a in (", "a=b c")
FIELDS: Final = (
    "metadata.name=one",
    "metadata.name!=one",
    "spec.size=small",
    "spec.x=1",
    "metadata.namespace=${ns}",
)
VERSIONS: Final = {
    "${rv}": 6.0,
    "${first}": 2.0,
    "": 2.0,
    "x": 0.5,
    "-1": 0.5,
    "00": 0.3,
    "18446744073709551616": 0.3,
    "9999999999999": 0.5,
}


def generate(draw: Draw) -> Case:
    """Watches that are opened between writes."""
    kind = draw.weighted(
        {WIDGET: 4, SHAPE: 1, CONFIG_MAP: 2, SECRET: 1, LEASE: 0.5, VERSIONED[1]: 0.5}
    )
    saved = {"rv": "/metadata/resourceVersion", "first": "/metadata/resourceVersion"}
    steps: list[Step] = [request("POST", kind.path, _object(draw, kind, "one"), save=saved)]
    watches = 0
    for _ in range(draw.number(4, 9)):
        if draw.chance(0.3) and watches < 3:
            steps.append(_watch(draw, kind, f"w{watches}"))
            watches += 1
        else:
            steps.append(_write(draw, kind))
    steps.extend(collect(f"w{number}") for number in range(watches))
    return {"steps": steps}


def _object(draw: Draw, kind: Kind, name: str) -> Json:
    labels = {key: draw.one(("1", "2")) for key in draw.some(("a", "b"))}
    return kind.object(draw, name, labels=labels)


def _write(draw: Draw, kind: Kind) -> Step:
    name = draw.one(("one", "two", "three"))
    saved = {"rv": "/metadata/resourceVersion"}
    return draw.made(
        (
            (3.0, lambda: request("POST", kind.path, _object(draw, kind, name))),
            (1.5, lambda: request("PUT", kind.at(name), _object(draw, kind, name))),
            (2.0, lambda: _relabel(draw, kind, name)),
            (1.5, lambda: request("DELETE", kind.at(name))),
            (1.0, lambda: _status(draw, kind, name)),
            (0.4, lambda: request("DELETE", kind.path)),
            (0.7, lambda: request("GET", kind.path, save=saved)),
        )
    )


def _status(draw: Draw, kind: Kind, name: str) -> Step:
    status = {"phase": draw.one(("Pending", "Running"))}
    if not kind.status:
        return patch(kind.at(name), MERGE_PATCH, {"metadata": {"annotations": status}})
    return patch(kind.at(name, "status"), MERGE_PATCH, {"status": status})


def _relabel(draw: Draw, kind: Kind, name: str) -> Step:
    labels = {draw.one(("a", "b")): draw.one(("1", "2", None))}
    meta: Json = {"labels": labels}
    if draw.chance(0.2):
        meta["finalizers"] = draw.one((["a.b/c"], []))
    return patch(kind.at(name), MERGE_PATCH, {"metadata": meta})


def _watch(draw: Draw, kind: Kind, name: str) -> Step:
    query: Json = {}
    if draw.chance(0.75):
        query["resourceVersion"] = draw.weighted(VERSIONS)
    else:
        query["resourceVersion"] = "0"
    if draw.chance(0.3):
        query["labelSelector"] = draw.one(LABELS)
    if draw.chance(0.2):
        query["fieldSelector"] = draw.one(FIELDS)
    if draw.chance(0.2):
        query |= draw.one(
            (
                {"allowWatchBookmarks": "true"},
                {"resourceVersionMatch": "NotOlderThan"},
                {"resourceVersionMatch": "Exact"},
                {"sendInitialEvents": "true"},
                {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"},
                {"limit": "1"},
                {"continue": "x"},
                {"timeoutSeconds": "x"},
                {"timeoutSeconds": "30"},
                {"watch": "1"},
            )
        )
    if draw.chance(0.15):
        query |= {
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
        }
    path = kind.path if draw.chance(0.9) else kind.at(draw.one(("one", "two")))
    if draw.chance(0.1):  # other cases have objects in other namespaces
        path = kind.everywhere
        query["fieldSelector"] = "metadata.namespace=${ns}" + draw.one(("", ",metadata.name=one"))
    step = watch(path, name, query)
    if draw.chance(0.2):
        step["watch"]["headers"] = {"Accept": draw.one(ACCEPTS)}
        if draw.chance(0.5):
            step["watch"]["query"]["includeObject"] = draw.one(("None", "Object", "x"))
    return step
