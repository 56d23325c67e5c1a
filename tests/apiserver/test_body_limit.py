"""Bodies of more than 3 MiB are refused, however they come, and not kept in the meantime."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kapy._aio.clock import system_clock
from kapy.apiserver.request.body import LIMIT
from kapy.apiserver.server import Server
from kapy.apiserver.serving.asgi_messages import read_body
from kapy.kube.errors import TooLarge
from tests.apiserver.network_client import Answer, Calls
from tests.apiserver.requester import CONFIG_MAPS

APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"


def refusal(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.body["message"]


@pytest.fixture
def calls() -> Calls:
    return Calls(Server.open(None, clock=system_clock))


@pytest.mark.parametrize(
    ("method", "target", "media"),
    [
        ("POST", CONFIG_MAPS, "application/json"),
        ("POST", CONFIG_MAPS, "application/yaml"),
        ("POST", CONFIG_MAPS, "application/vnd.kubernetes.protobuf"),
        ("PUT", f"{CONFIG_MAPS}/a", "application/json"),
        ("PATCH", f"{CONFIG_MAPS}/a", MERGE),
        ("PATCH", f"{CONFIG_MAPS}/a?fieldManager=me", APPLY),
        ("DELETE", f"{CONFIG_MAPS}/a", "application/json"),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "application/json"),
        ("POST", "/nothing", "text/plain"),
    ],
)
@pytest.mark.parametrize("chunked", [False, True], ids=["at once", "chunked"])
async def test_a_body_that_is_too_large_is_refused(
    calls: Calls, method: str, target: str, media: str, chunked: bool
) -> None:
    body = b"a: " + b"x" * LIMIT
    if chunked:
        parts = [body[at : at + 65_536] for at in range(0, len(body), 65_536)]
        answer = await calls.call(method, target, chunks=parts, content_type=media)
    else:
        answer = await calls.call(method, target, body, content_type=media)
    assert refusal(answer) == (413, f"Request entity too large: limit is {LIMIT}")


@pytest.mark.parametrize(
    ("headers", "parts"),
    [({"transfer-encoding": "chunked"}, 4), ({"content-length": str(LIMIT + 1)}, 0)],
)
async def test_an_oversized_body_is_not_read_to_its_end(
    headers: dict[str, str], parts: int
) -> None:
    received = 0

    async def receive() -> dict[str, Any]:
        nonlocal received
        received += 1
        return {"type": "http.request", "body": b"x" * 1_000_000, "more_body": True}

    with pytest.raises(TooLarge):
        await read_body(headers, receive)
    assert received == parts


async def test_a_body_of_the_limit_is_read(calls: Calls) -> None:
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    body = json.dumps(head).encode()
    answer = await calls.call("POST", CONFIG_MAPS, body + b" " * (LIMIT - len(body)))
    assert answer.status == 404  # there are no namespaces yet, which the object was read for
