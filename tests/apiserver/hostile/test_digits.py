"""Texts that look like numbers but are none for `int`: no request with one fails the server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kapy.kube import Document
from tests.apiserver.requester import running

DIGITS = ("²", "٣", "9" * 5000)
"""A digit that is no decimal, a decimal of another script, more digits than Python reads."""
MAPS = "/api/v1/namespaces/default/configmaps"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
PATCH = "application/json-patch+json"


def config_map(name: str, **metadata: Any) -> Document:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


def budget(name: str, amount: str) -> Document:
    spec = {"minAvailable": amount, "selector": {"matchLabels": {"a": "b"}}}
    metadata = {"name": name}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata,
        "spec": spec,
    }


def requests_with(digits: str) -> list[tuple[str, str, str, Any, dict[str, str]]]:
    """Method, path, media type, body and query of requests."""
    versioned, plain = config_map("a", resourceVersion=digits), "application/json"
    patches = [
        [{"op": op, "path": f"/metadata/finalizers/{digits}", "value": "example.dev/x"}]
        for op in ("add", "remove", "replace", "test")
    ]
    queries = [
        {name: digits}
        for name in ("limit", "resourceVersion", "timeoutSeconds", "continue", "watch")
    ]
    return [
        ("POST", MAPS, plain, versioned, {}),
        ("POST", BUDGETS, plain, budget("a", digits), {}),
        ("POST", BUDGETS, plain, budget("b", f"{digits}%"), {}),
        ("GET", MAPS, plain, None, {"labelSelector": f"a>{digits}"}),
        ("PUT", f"{MAPS}/a", plain, versioned, {}),
        ("PUT", f"{MAPS}/new", plain, config_map("new", resourceVersion=digits), {}),
        ("PATCH", f"{MAPS}/a", "application/merge-patch+json", versioned, {}),
        ("PATCH", f"{MAPS}/a", "application/apply-patch+yaml", versioned, {"fieldManager": "m"}),
        *(("PATCH", f"{MAPS}/a", PATCH, patch, {}) for patch in patches),
        *(("GET", MAPS, plain, None, query) for query in queries),
        ("GET", f"{MAPS}/a", plain, None, {"resourceVersion": digits}),
        ("GET", "/api/v1/namespaces/default/pods/a/portforward", plain, None, {"ports": digits}),
        ("DELETE", f"{MAPS}/a", plain, {"gracePeriodSeconds": digits}, {}),
        (
            *("DELETE", f"{MAPS}/a", plain),
            {"preconditions": {"resourceVersion": digits}},
            {"gracePeriodSeconds": digits},
        ),
    ]


@pytest.mark.parametrize("digits", DIGITS, ids=("superscript", "arabic", "long"))
async def test_any_digits_are_handled(digits: str, caplog: Any) -> None:
    async with running() as asking:
        finalized = config_map("a", finalizers=["example.dev/a"])
        await asking.ask("POST", MAPS, json.dumps(finalized).encode(), "application/json")
        statuses = set()
        for method, path, media, body, query in requests_with(digits):
            raw = b"" if body is None else json.dumps(body).encode()
            status, answer = await asking.ask(method, path, raw, media, **query)
            statuses.add(status)
            # Such an answer of the storage layer has no reason in kube-apiserver.
            assert status != 500 or "reason" not in answer, (method, path, answer)
    assert statuses & {400, 409, 422}
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
