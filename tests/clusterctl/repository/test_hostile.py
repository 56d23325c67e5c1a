"""Repositories that mean harm: lists without end, loops, bombs, nonsense."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from aiohttp import web

from kapy.clusterctl.errors import RepositoryError
from kapy.clusterctl.oci.credentials import Credentials
from kapy.clusterctl.oci.registry import Registry
from kapy.clusterctl.repository.cache import Cache
from kapy.clusterctl.repository.github import GitHubSource, Hosts, module_versions
from kapy.clusterctl.repository.gitlab import GitLabSource
from kapy.clusterctl.repository.web import WebClient
from tests.clusterctl.repository.servers import Server, saying, serving

pytestmark = pytest.mark.sockets


@pytest.fixture(autouse=True)
def _few_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kapy.clusterctl.repository.web.MAX_PAGES", 5)


def listing(document: Any, **headers: str) -> Server:
    """A server whose every page has a next one."""

    async def answer(_: Server, request: web.Request) -> web.StreamResponse:
        messages = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.json_response(document, headers=messages)

    return Server(answer)


async def test_an_endless_series_of_major_versions_ends() -> None:
    async def answer(_: Server, request: web.Request) -> web.StreamResponse:
        return web.Response(text="v1.0.0\n")

    async with serving(Server(answer)) as server:
        with pytest.raises(RepositoryError, match="more than 5 pages"):
            await module_versions(WebClient(()), server.url, "a.b/c")
        assert len(server.asked) == 5


async def test_an_endless_list_of_releases_ends() -> None:
    releases = [{"tag_name": f"v1.0.{n}"} for n in range(100)]
    async with serving(listing(releases)) as server:
        hosts = Hosts(server.url, server.url, ())
        github = GitHubSource("a/b", "latest", "c.yaml", WebClient(()), Cache(None), "", hosts)
        with pytest.raises(RepositoryError, match="more than 5 pages"):
            await github._tags()
        assert len(server.asked) == 5


async def test_an_endless_list_of_packages_ends() -> None:
    async with serving(listing([{"file_name": "a"}], x_next_page="2")) as server:
        gitlab = GitLabSource(server.url, "c", "v1.0.0", "c.yaml", WebClient(()))
        with pytest.raises(RepositoryError, match="more than 5 pages"):
            await gitlab._list(f"{server.url}/x?", "file_name")
        assert len(server.asked) == 5


async def test_an_endless_list_of_tags_ends() -> None:
    link = '</v2/a/tags/list?n=1000&last=x>; rel="next"'
    async with serving(listing({"tags": ["v1.0.0"]}, link=link)) as server:
        registry = Registry(server.url, "a", WebClient(()), Credentials())
        with pytest.raises(RepositoryError, match="more than 5 pages"):
            await registry.tags()
        assert len(server.asked) == 5


async def test_a_loop_of_redirects_ends() -> None:
    async def answer(server: Server, request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound(f"{server.url}/{len(server.asked)}")

    async with serving(Server(answer)) as server:
        with pytest.raises(RepositoryError, match="cannot reach"):
            await WebClient(()).get(f"{server.url}/x")
        assert len(server.asked) < 20


async def test_a_gzip_bomb_is_a_file_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kapy.clusterctl.repository.web.MAX_BYTES", 1 << 20)
    bomb = gzip.compress(b" " * (1 << 26))

    async def answer(_: Server, request: web.Request) -> web.StreamResponse:
        return web.Response(body=bomb, headers={"content-encoding": "gzip"})

    async with serving(Server(answer)) as server:
        with pytest.raises(RepositoryError, match="so it is no file of a release"):
            await WebClient(()).get(f"{server.url}/x")


@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b'"\xff"', b"", b'"' + b"x" * (17 << 20) + b'"'],
    ids=["deep", "no text", "nothing", "long"],
)
async def test_invalid_json_is_reported(body: bytes) -> None:
    says = saying(body, "application/json")
    async with serving(Server(lambda _, request: says(request))) as server:
        answer = await WebClient(()).get(f"{server.url}/x")
        with pytest.raises(RepositoryError, match="JSON"):
            answer.json()
