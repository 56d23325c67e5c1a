"""Tests of a program's health and readiness endpoints."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.apps.program.endpoints import Endpoints

ALL_IS_WELL = "[+]webhook ok\nhealthz check passed\n"


async def told(endpoints: Endpoints, request: str) -> tuple[int, str]:
    """Status and text of a page."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    path, _, query = request.partition("?")
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode()}
    await endpoints(scope, receive, send)
    return sent[0]["status"], sent[1]["body"].decode()


@pytest.mark.parametrize(
    ("path", "missing", "answer"),
    [
        ("/healthz", "", (200, "ok")),
        ("/healthz", "machines", (200, "ok")),
        ("/readyz", "", (200, "ok")),
        ("/readyz", "machines", (503, "machines")),
        ("/readyz/webhook", "", (200, "ok")),
        ("/readyz/webhook", "machines", (503, "machines")),
        ("/readyz?verbose", "", (200, ALL_IS_WELL)),
        ("/healthz?verbose=1", "", (200, ALL_IS_WELL)),
        ("/readyz?verbose", "machines", (503, "machines")),
        ("/metrics", "", (404, "there are /healthz and /readyz")),
    ],
)
async def test_pages_name_the_missing_parts(
    path: str, missing: str, answer: tuple[int, str]
) -> None:
    assert await told(Endpoints(lambda: missing), path) == answer


async def test_a_stopping_program_is_not_ready() -> None:
    endpoints = Endpoints(lambda: "")
    await endpoints.stop()
    assert await told(endpoints, "/readyz") == (503, "stopping")
    assert await told(endpoints, "/healthz") == (200, "ok")


async def test_additional_problems_are_shown_without_failing_readiness() -> None:
    endpoints = Endpoints(lambda: "", lambda: "the server has enough")
    assert await told(endpoints, "/readyz") == (200, "ok, but: the server has enough")
    assert await told(endpoints, "/readyz?verbose") == (200, ALL_IS_WELL)
    assert await told(endpoints, "/healthz") == (200, "ok")
