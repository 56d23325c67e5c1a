"""Templates at URLs, over real sockets: GitHub's files and releases, and any other server."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from unittest.mock import patch

import pytest
from aiohttp import web

from kapy.clusterctl.config import Config
from kapy.clusterctl.errors import TemplateError
from kapy.clusterctl.repository import web as asking
from kapy.clusterctl.repository.web import HttpResponse
from kapy.clusterctl.templates.sources import is_remote, text_at
from tests.clusterctl.repository.servers import Server, serving

pytestmark = pytest.mark.sockets

FILES = {
    "/repos/o/r/contents/a/my%20template.yaml?ref=release/1.0": "of a branch",
    "/o/r/releases/download/v1.0.0/cluster-template.yaml": "of a release",
    "/templates/t.yaml": "of a server",
}


@asynccontextmanager
async def the_internet() -> AsyncIterator[Server]:
    """One server for all names; whatever is asked for with https: goes there."""
    original = asking._answer

    async def answer(_: Server, request: web.Request) -> web.StreamResponse:
        text = FILES.get(request.raw_path)
        if text is None:
            return web.json_response({"message": "Not Found"}, status=404)
        if request.path.startswith("/repos/"):
            assert request.headers["Accept"] == "application/vnd.github.raw+json"
            assert request.headers["Authorization"] == "Bearer secret"
        return web.Response(text=text, content_type="text/plain")

    async def answer_from(
        method: str, url: str, headers: Mapping[str, str], data: bytes | None
    ) -> HttpResponse:
        return await original(method, re.sub("https://[^/]*", server.url, url), headers, data)

    async with serving(Server(answer)) as server:
        with patch.object(asking, "_answer", answer_from):
            yield server


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("https://github.com/o/r/blob/release%2F1.0/a/my%20template.yaml", "of a branch"),
        (
            "https://github.com/o/r/releases/download/v1.0.0/cluster-template.yaml",
            "of a release",
        ),
        ("https://files.example.com/templates/t.yaml", "of a server"),
    ],
)
async def test_a_template_is_read_from_where_its_url_says(url: str, text: str) -> None:
    config = Config(environ={"GITHUB_TOKEN": "secret", "KAPY_CACHE": "off"})
    async with the_internet():
        assert is_remote(url)
        assert await text_at(url, config) == text


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("https://github.com/o/r/blob/main/none.yaml", "contents/none.yaml"),
        ("https://github.com/o/r/releases/download/v1.0.0/none.yaml", "release v1.0.0 of"),
        ("https://files.example.com/none.yaml", "failed to get file, got 404"),
    ],
)
async def test_a_template_that_is_not_there_is_reported(url: str, message: str) -> None:
    config = Config(environ={"KAPY_CACHE": "off"})
    async with the_internet():
        with pytest.raises(TemplateError, match=f"invalid GetFromURL operation: .*{message}"):
            await text_at(url, config)
