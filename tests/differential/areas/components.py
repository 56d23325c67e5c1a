"""Component files of released providers: each object is created, and patched as users do that, by
hand and with kustomize: one value of it, by every type of patch, and the whole object applied."""

from __future__ import annotations

import copy
import gzip
import json
import re
from functools import cache
from typing import Any, Final

import yaml

from tests.differential.case import (
    APPLY_PATCH,
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
from tests.differential.mutation import OTHERS, parent_of, places
from tests.oracle.recorded import SAMPLES, data

FILES: Final = "*/*/*components.yaml"
DEFINITIONS: Final = SAMPLES / "crds"
_VARIABLE: Final = re.compile(r"\$\{\w+(?::?[=-]([^}]*))?\}")
_GIVEN: Final = "eA=="
"""The value of every variable without a default. It is also valid as base64."""

_PLURALS: Final[dict[str, tuple[str, bool]]] = {
    "ClusterRole": ("clusterroles", False),
    "ClusterRoleBinding": ("clusterrolebindings", False),
    "CustomResourceDefinition": ("customresourcedefinitions", False),
    "Deployment": ("deployments", True),
    "MutatingWebhookConfiguration": ("mutatingwebhookconfigurations", False),
    "Namespace": ("namespaces", False),
    "Role": ("roles", True),
    "RoleBinding": ("rolebindings", True),
    "Secret": ("secrets", True),
    "Service": ("services", True),
    "ServiceAccount": ("serviceaccounts", True),
    "ValidatingWebhookConfiguration": ("validatingwebhookconfigurations", False),
}
"""Plural and whether it is namespaced. Certificates and Issuers are cert-manager's, no server's."""

DEEP: Final = 7
"""Keys of a path: below lie the thousands of fields of a schema, of which a few are enough."""
KEYS: Final = ("name", "containerPort", "port", "kind")


@cache
def released() -> tuple[Json, ...]:
    """The objects of all component files, variables with their defaults; the definitions that the
    repository keeps of them where the files are not on this machine."""
    results: list[Json] = []
    for path in sorted(data("upstream/providers").glob(FILES)):
        text = _VARIABLE.sub(lambda match: match[1] or _GIVEN, path.read_text())
        objects = [item for item in yaml.load_all(text, yaml.CSafeLoader) if item]
        results += [obj for obj in objects if obj["kind"] in _PLURALS]
    if not results:
        for path in sorted(DEFINITIONS.glob("*.jsonl.gz")):
            results += map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
    return tuple(results)


def generate(draw: Draw) -> Case:
    """One released object in a namespace (or under a name) of the case's own, and its patches."""
    kind = draw.one(sorted({item["kind"] for item in released()}))
    document = _own(draw.one([item for item in released() if item["kind"] == kind]))
    plural, namespaced = _PLURALS[kind]
    version = document["apiVersion"]
    root = f"/api/{version}" if "/" not in version else f"/apis/{version}"
    base = f"{root}/namespaces/${{ns}}/{plural}" if namespaced else f"{root}/{plural}"
    path = f"{base}/{document['metadata']['name']}"
    steps: list[Step] = [request("POST", base, document)]
    steps += [_patched(draw, path, document) for _ in range(draw.number(4, 8))]
    steps += [request("GET", path), request("DELETE", path)]
    if kind in ("Namespace", "CustomResourceDefinition"):  # their end is seen by controllers first
        steps[-1]["only"] = ["/kind"]
    return {"setup": [], "steps": [_seen(step, kind) for step in steps]}


def _seen(step: Step, kind: str) -> Step:
    """A definition's status is written by controllers, between any two answers."""
    if kind != "CustomResourceDefinition" or "only" in step:
        return step
    return {**step, "only": ["/kind", "/spec", "/message", "/code", "/details", "/metadata/labels"]}


def _own(document: Json) -> Json:
    """The object under names that are the case's own."""
    document = copy.deepcopy(document)
    kind, meta = document["kind"], document["metadata"]
    if kind == "CustomResourceDefinition":
        group = document["spec"]["group"]
        text = json.dumps(document).replace(f'"{group}"', f'"${{u}}.{group}"')
        document = json.loads(text)
        meta = document["metadata"]
        meta["name"] = f"{document['spec']['names']['plural']}.${{u}}.{group}"
    elif _PLURALS[kind][1]:
        meta["namespace"] = "${ns}"
    else:
        meta["name"] = f"${{u}}-{meta['name']}"
    for hook in document.get("webhooks") or ():
        for rule in hook.get("rules") or ():
            rule["apiGroups"] = [f"${{u}}.{group}" for group in rule["apiGroups"]]
    return document


def _patched(draw: Draw, path: str, document: Json) -> Step:
    """A change of one value of the object, or the whole object with that change applied."""
    query = draw.one(({}, {}, {}, {"dryRun": "All"}, {"fieldValidation": "Strict"}))
    query = {**query, "fieldManager": draw.one(("kubectl-patch", "kubectl-edit"))}
    place = draw.one(_places(document))
    value = _changed(draw, parent_of(document, place)[place[-1]])
    pointer = "/" + "/".join(str(key).replace("~", "~0").replace("/", "~1") for key in place)
    operation = {"op": draw.one(("replace", "replace", "add", "remove")), "path": pointer}
    if operation["op"] != "remove":
        operation["value"] = value
    partial = _partial(document, place, value)
    applied = {**query, "fieldManager": "kustomize", "force": draw.one(("true", "false"))}
    return draw.made(
        (
            (2.0, lambda: patch(path, STRATEGIC_PATCH, partial, query=query)),
            (1.0, lambda: patch(path, MERGE_PATCH, partial, query=query)),
            (1.5, lambda: patch(path, JSON_PATCH, [operation], query=query)),
            (1.5, lambda: patch(path, APPLY_PATCH, _with(document, place, value), query=applied)),
            (0.5, lambda: patch(path, STRATEGIC_PATCH, _labels(draw), query=query)),
        )
    )


def _places(document: Json) -> list[tuple[str | int, ...]]:
    fixed = {("apiVersion",), ("kind",), ("metadata",), ("metadata", "name")}
    return [place for place in places(document) if len(place) <= DEEP and place not in fixed]


def _changed(draw: Draw, value: Json) -> Json:
    """Another value, most often of the same type."""
    if draw.chance(0.1):
        return copy.deepcopy(draw.one(OTHERS))
    if draw.chance(0.1):
        return None
    match value:
        case bool():
            return not value
        case int():
            return draw.one((value + 1, 0, -1))
        case str():
            return draw.one((f"{value}-x", "x", "", "/", "1"))
        case list():
            return draw.one(([], value[:-1], value[::-1], [*value, *value[:1]]))
        case dict():
            return draw.one(({}, {"x": "y"}, {**value, "x": "y"}))
    return "x"


def _partial(node: Json, place: tuple[str | int, ...], value: Json) -> Json:
    """An overlay: the change and, around it, the keys that identify the items of lists."""
    key, rest = place[0], place[1:]
    inner = _partial(node[key], rest, value) if rest else value
    if isinstance(node, dict):
        return {key: inner}
    item: Any = node[key]
    if isinstance(item, dict) and isinstance(inner, dict):
        inner = {**{name: item[name] for name in KEYS if name in item}, **inner}
    return [inner]


def _with(document: Json, place: tuple[str | int, ...], value: Json) -> Json:
    document = copy.deepcopy(document)
    parent_of(document, place)[place[-1]] = value
    return document


def _labels(draw: Draw) -> Json:
    """The patch that `kubectl label` or `kubectl annotate` sends."""
    field = draw.one(("labels", "annotations"))
    return {"metadata": {field: {draw.one(("a", "a.b/c", "-")): draw.one(("x", None, ""))}}}
