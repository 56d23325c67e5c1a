"""Tests of requests to servers: they use proxies, and send a token only to its own server."""

from __future__ import annotations

import pytest
from aiohttp import web

from kapy.clusterctl.errors import RepositoryError
from kapy.clusterctl.repository.web import WebClient
from tests.clusterctl.repository.servers import Server, saying, serving

pytestmark = pytest.mark.sockets


async def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = saying(b"through the proxy", "text/plain")
    async with serving(Server(lambda _, request: answer(request))) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert (await WebClient(()).get("http://herd.invalid/c.yaml")).body == b"through the proxy"
        assert proxy.asked == ["GET http://herd.invalid/c.yaml"]
        await WebClient(()).get(f"{proxy.url}/c.yaml")
        assert proxy.asked[1:] == ["GET /c.yaml"]


async def test_a_redirect_to_another_server_does_not_take_the_token_there() -> None:
    result = []

    async def storage(_: Server, request: web.Request) -> web.StreamResponse:
        result.append(request.headers.get("Authorization"))
        return web.Response(body=b"kind: Herd")

    async with serving(Server(storage)) as elsewhere:

        async def moved(_: Server, request: web.Request) -> web.StreamResponse:
            result.append(request.headers.get("Authorization"))
            return web.Response(status=302, headers={"Location": f"{elsewhere.url}/c.yaml"})

        async with serving(Server(moved)) as server:
            http_response = await WebClient(()).get(
                f"{server.url}/c", {"Authorization": "Bearer t"}
            )
    assert http_response.body == b"kind: Herd"
    assert result == ["Bearer t", None]


async def test_an_endless_response_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kapy.clusterctl.repository.web.MAX_BYTES", 100)
    says = saying(b"x" * 1000, "text/plain")
    async with serving(Server(lambda _, request: says(request))) as server:
        with pytest.raises(RepositoryError, match="so it is no file of a release"):
            await WebClient((0, 0)).get(f"{server.url}/c")
    assert len(server.asked) == 1
