"""Documents of every served kind with values that do not belong there: nobody gets a 500.

Reduced by default; `KAPY_HOSTILE=50` makes fifty times as many.
"""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Iterable
from typing import Any

import pytest

from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.structs import facts
from kapy.kube import Document
from kapy.kube.http import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from tests.apiserver.requester import Asking, running

REQUESTS = 1200
SEEDS = 2 * int(os.environ.get("KAPY_HOSTILE", "1"))
LONG = "9" * 5000
"""More digits than Python reads."""
DIGITS = ("²", "٣", LONG)
STRANGE: list[Any] = [
    *DIGITS,
    *(None, True, 0, -1, 2**31, 2**63, 10**30, -(2**63) - 1, 1.5, 1e308),
    *("", "x", "-1", "a/b", "A_b", "é", "\0", "\ud83d", "x" * 300, "10Mi", "1e400", "^(", "%s"),
    *([], {}, [None], [[]], {"": ""}, {"x": None}, [{}], [1, "a"], {"a": {"b": {"c": 1}}}),
    {"matchExpressions": [{"key": "a", "operator": "Never", "values": ["b"]}]},
]
TEXTS = ("a", "v1", "Foo", "foos", "TCP", "Always", "", "example.dev", "foos.example.dev", "a.b/c")
TIMES = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000Z", "soon", None)
LEAVES: dict[str, tuple[Any, ...]] = {
    "string": TEXTS,
    "bool": (True, False),
    "float64": (1.5,),
    "bytes": ("YQ==", "!"),
    "time": TIMES,
    "microtime": TIMES,
    "quantity": ("1", "10Mi", 1, "much"),
    "intstr": (1, "50%", "http", f"{LONG}%"),
    "int": (0, 1, 80, -1),
    "int32": (0, 1, 80, -1),
    "int64": (0, 1, 80, -1),
    "any": ({"a": 1}, {"type": "object"}, 1, "x", [1]),
}
QUERIES = {
    "dryRun": ("All", "x"),
    "fieldValidation": ("Strict", "Ignore", "x"),
    "fieldManager": ("\0", "x" * 200),
    "limit": ("1", "-1", "x", "99999999999999999999", *DIGITS),
    "resourceVersion": ("0", "1", "99999999", *DIGITS),
    "labelSelector": ("a=b", "a in (", "!", "a>1", "="),
    "fieldSelector": ("metadata.name=a", "x=y", "="),
    "continue": ("x", "e30"),
    "timeoutSeconds": ("-1", "x", *DIGITS),
    "gracePeriodSeconds": ("0", "-1", "x", "9" * 30, *DIGITS),
    "propagationPolicy": ("Foreground", "Orphan", "x"),
    "resourceVersionMatch": ("Exact", "x"),
}
DIRECTIVES = ("$patch", "$retainKeys", "$setElementOrder/x", "$deleteFromPrimitiveList/finalizers")
POINTERS: tuple[Any, ...] = (
    "",
    "/",
    "/spec",
    "/metadata/labels/a",
    "/metadata/finalizers/-",
    "/spec/x/9",
    "x",
    1,
)
POINTERS += tuple(f"/metadata/finalizers/{digits}" for digits in DIGITS)
ACCIDENTS = ("resourceVersion should not be set on objects to be created",)
"""Messages of 500 responses to client errors, which kube-apiserver gives, too: responses about
resourceVersions must be the same."""


class Mutations:
    """Requests from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def pick(self, things: Any) -> Any:
        return copy.deepcopy(self._random.choice(things))

    def kind(self, served: Iterable[Kind]) -> Kind:
        return self._random.choice(list(served))

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    def value(self, kind: str, depth: int) -> Any:
        """A value of a type as the facts spell it, or a strange one."""
        if self.chance(0.07):
            return self.pick(STRANGE)
        if kind.startswith("[]"):
            return [self.value(kind[2:], depth - 1) for _ in range(self.pick((0, 1, 2)))]
        if kind.startswith("{}"):
            return {self.pick(TEXTS): self.value(kind[2:], depth - 1)}
        return self.pick(LEAVES[kind]) if kind in LEAVES else self.struct(kind, depth - 1)

    def struct(self, name: str, depth: int) -> Document:
        result = {}
        for field, fact in facts()["structs"].get(name, {}).items():
            if depth >= 0 and self.chance(0.9 if fact.get("r") else 0.3):
                result[field] = self.value(fact["t"], depth)
        return result

    def document(self, kind: Kind) -> Document:
        if kind.custom:
            result: Document = {"spec": self.pick(({"color": "red"}, *STRANGE))}
        else:
            result = self.struct(kind.schema.struct, 7)
        result |= {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind}
        meta = self.struct("meta.v1.ObjectMeta", 4) if self.chance(0.3) else {}
        return {**result, "metadata": {**meta, "name": self.pick("abc")}}

    def patch(self, document: Document) -> tuple[str, Any]:
        media = self.pick((APPLY_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, JSON_PATCH))
        if media == JSON_PATCH:
            return media, [self.operation() for _ in range(self.pick((0, 1, 3)))]
        if media == STRATEGIC_MERGE_PATCH:
            self.directed(document)
        elif media == MERGE_PATCH and self.chance(0.5):
            document = {self.pick(("spec", "metadata", "kind")): self.pick(STRANGE)}
        return media, document

    def directed(self, node: Any) -> None:
        for inner in node.values() if isinstance(node, dict) else node:
            if isinstance(inner, dict | list):
                self.directed(inner)
        if isinstance(node, dict) and self.chance(0.15):
            node[self.pick(DIRECTIVES)] = self.pick(("delete", "replace", *STRANGE))

    def operation(self) -> Any:
        op = self.pick(("add", "remove", "replace", "move", "copy", "test", "x", None))
        result = {"op": op, "path": self.pick(POINTERS), "from": self.pick(POINTERS)}
        return {**result, "value": self.pick(STRANGE)} if self.chance(0.9) else self.pick(STRANGE)

    def query(self) -> dict[str, str]:
        return {name: self.pick(some) for name, some in QUERIES.items() if self.chance(0.05)}

    def request(self, kind: Kind) -> tuple[str, str, str, Any, dict[str, str]]:
        """Method, path, media type, body and query."""
        resource, name = kind.resource, self.pick("abc")
        base = resource.root + ("/namespaces/default" if kind.namespaced else "")
        base, document = f"{base}/{resource.plural}", self.document(kind)
        part = self.pick(("", "", "", "", *sorted(kind.subresources)))
        text, query = f"{base}/{name}" + (f"/{part}" if part else ""), self.query()
        media, body = "application/json", self.pick((document, document, *STRANGE))
        method = self.pick(("POST", "POST", "PUT", "PATCH", "PATCH", "DELETE", "GET"))
        if method == "PATCH":
            media, body = self.patch(document)
            query = {"fieldManager": "m", **query} if media == APPLY_PATCH else query
        elif method == "DELETE":
            body = self.struct("meta.v1.DeleteOptions", 3)
        return method, base if method == "POST" and not part else text, media, body, query


async def refused_with_500(asking: Asking, mutations: Mutations) -> list[Any]:
    """Requests that were answered as if the server had failed."""
    failed = []
    for _ in range(REQUESTS):
        kind = mutations.kind(asking.server.context.registry)
        method, path, media, body, query = mutations.request(kind)
        raw = b"" if method == "GET" else json.dumps(body).encode()
        status, answer = await asking.ask(method, path, raw, media, **query)
        # Where kube-apiserver answers an error of the client with 500, its Status has no reason.
        if status == 500 and "reason" in answer and answer.get("message") not in ACCIDENTS:
            failed.append((method, path, query, raw[:2000], answer))
    return failed


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_any_document_is_handled(seed: int, caplog: Any) -> None:
    async with running() as asking:
        assert await refused_with_500(asking, Mutations(seed)) == []
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
