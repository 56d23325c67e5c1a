"""Long answers are encoded and sent in pieces, so that others have their turns between them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, MutableMapping
from typing import Any

import pytest

from kapy.apiserver.auth.authentication import Authenticator, authenticated_user
from kapy.apiserver.server.warning_headers import EACH, TOTAL, warning_headers
from kapy.apiserver.serving import Application
from kapy.apiserver.serving.asgi_messages import PIECE
from tests.apiserver.requester import CONFIG_MAPS, GIZMOS, Asking, config_map, gizmo, running

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
TEXT = "x" * 100_000


async def sent(asking: Asking, path: str, method: str = "GET", accept: str = "") -> list[Any]:
    """The messages of an answer over the network."""
    user = authenticated_user("admin", ("system:masters",), "admin")
    application = Application(asking.server, Authenticator({"t": user}))
    messages: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        messages.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    headers = [(b"authorization", b"Bearer t")]
    if accept:
        headers.append((b"accept", accept.encode()))
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "state": {},
    }
    await application(scope, receive, send)
    return messages


@pytest.fixture
async def full() -> AsyncIterator[Asking]:
    """A server with fifty large objects, and many small ones."""
    async with running() as asking:
        for number in range(50):
            await asking.create(CONFIG_MAPS, {**config_map(f"m{number:02}"), "data": {"a": TEXT}})
        for number in range(40):
            await asking.create(GIZMOS, gizmo(f"s{number:02}"))
        yield asking


@pytest.mark.parametrize("accept", ["", TABLE])
async def test_a_long_list_is_sent_in_pieces(full: Asking, accept: str) -> None:
    begin, *parts = await sent(full, CONFIG_MAPS, accept=accept)
    content = b"".join(part["body"] for part in parts)
    length = dict(begin["headers"])[b"content-length"]
    assert int(length) == len(content)
    answer = json.loads(content)
    assert len(answer["items" if not accept else "rows"]) == 50
    assert max(len(part["body"]) for part in parts) <= PIECE
    assert [part.get("more_body", False) for part in parts[-2:]] in ([True, False], [False])
    if not accept:
        in_process = await full.get(CONFIG_MAPS)
        assert answer == json.loads(json.dumps(in_process))


async def test_a_list_of_small_objects_is_the_same_in_parts(full: Asking) -> None:
    _, *parts = await sent(full, GIZMOS)
    assert json.loads(b"".join(part["body"] for part in parts)) == await full.get(GIZMOS)


async def test_a_long_object_is_sent_in_pieces(full: Asking) -> None:
    data = {str(at): TEXT for at in range(10)}
    await full.create(CONFIG_MAPS, {**config_map("one"), "data": data})
    _, *parts = await sent(full, f"{CONFIG_MAPS}/one")
    assert json.loads(b"".join(part["body"] for part in parts))["data"] == data
    assert max(len(part["body"]) for part in parts) <= PIECE


async def test_head_returns_only_the_length(full: Asking) -> None:
    begin, *parts = await sent(full, CONFIG_MAPS, "HEAD")
    assert int(dict(begin["headers"]).get(b"content-length", b"0")) >= 0
    assert b"".join(part["body"] for part in parts) == b""


def test_hidden_warnings_are_not_computed() -> None:
    looked_at = 0

    def sentences() -> Iterator[str]:
        nonlocal looked_at
        for number in range(100_000):
            looked_at += 1
            yield f"{number:0300}"

    parts = warning_headers(sentences()).split("\n")
    assert len(parts) == TOTAL // EACH
    assert looked_at <= TOTAL // EACH + 1


def test_few_warnings_are_shown_whole() -> None:
    assert warning_headers(["a" * 300, "a" * 300, "b"]) == f'299 - "{"a" * 300}"\n299 - "b"'
