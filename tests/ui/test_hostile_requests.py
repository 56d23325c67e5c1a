"""Requests that no browser of a user sends: they are refused in words, and leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.apiserver.serving.asgi import Application
from kapy.apps.all_in_one import management_plane
from kapy.apps.fleet_pages import LocalSite
from kapy.apps.settings import Settings
from kapy.testing import on_virtual_time
from kapy.ui import application as application_module
from kapy.ui.application import FleetPages
from kapy.ui.rendering import asset
from tests.ui.visitor import HOST, Visitor, visiting


@asynccontextmanager
async def _visitor() -> AsyncIterator[Visitor]:
    clock = loop_clock()
    async with (
        management_plane(Settings(), clock=clock) as plane,
        visiting(plane.server, clock) as visitor,
    ):
        yield visitor


@pytest.mark.parametrize("origin", ["http://[", "http://]x", "null", "//", "http://a@b:c"])
@on_virtual_time
async def test_a_form_with_an_origin_that_is_no_url_is_refused(origin: str) -> None:
    async with _visitor() as visitor:
        answer = await visitor.post("/logout", {}, origin=origin)
    assert answer.status == 403


@on_virtual_time
async def test_browsers_say_to_this_site_where_a_form_comes_from() -> None:
    # With `no-referrer`, browsers send `Origin: null` with the forms of the page itself.
    async with _visitor() as visitor:
        page = await visitor.get("/")
    assert page.headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize(
    "other",
    ['{"a": 1}', "version=1", "path=/x", "a=b=c", 'a="x;', "=", "é=ü", "a b=c"],
)
@on_virtual_time
async def test_cookies_of_other_programs_on_this_host_do_not_hide_the_session(other: str) -> None:
    async with _visitor() as visitor:
        own = visitor.cookie
        for cookies in (f"{other}; {own}", f"{own}; {other}"):
            visitor.cookie = cookies
            assert (await visitor.get("/")).status == 200, cookies


def test_names_of_files_that_do_not_exist_are_not_remembered() -> None:
    def answer(number: int) -> bytes | None:
        return asset(f"nothing-{number}.css")

    answer(0)
    gc.collect()
    before = len(gc.get_objects())
    assert {answer(number) for number in range(500)} == {None}
    gc.collect()
    assert len(gc.get_objects()) - before < 100
    assert not hasattr(asset, "cache_info") or asset.cache_info().currsize < 20


@on_virtual_time
async def test_a_stream_answers_head_with_headers_only() -> None:
    async with _visitor() as visitor, asyncio.timeout(5):
        answer = await visitor.send("HEAD", "/live-fleet")
    assert (answer.status, answer.text) == (200, "")
    assert answer.headers["content-type"] == "text/event-stream"


@pytest.mark.parametrize(
    "path", ["", "/", "//", "/x", "/x/y/kapy.css", "/x/%2e%2e", "/x/..%2fweb.py"]
)
@on_virtual_time
async def test_a_path_of_no_file_is_not_found(path: str) -> None:
    async with _visitor() as visitor:
        answer = await visitor.get(f"/assets{path}")
    assert answer.status == 404


@on_virtual_time
async def test_a_failure_anywhere_is_answered_in_words(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(application_module, "asset_response", lambda _: 1 / 0)
    async with _visitor() as visitor:
        answer = await visitor.get("/assets/x/kapy.css")
    assert answer.status == 500
    assert "this page failed" in answer.text
    assert "ZeroDivisionError" in caplog.text


@on_virtual_time
async def test_an_incomplete_form_is_refused() -> None:
    async with _visitor() as visitor:
        incoming = asyncio.Queue[dict[str, Any]]()
        page = await visitor.get("/")
        token = page.text.partition('name="csrf" value="')[2].partition('"')[0]
        part = f"csrf={token}&yaml=x&namespace=kube".encode()
        incoming.put_nowait({"type": "http.request", "body": part, "more_body": True})
        incoming.put_nowait({"type": "http.disconnect"})
        kind = {"content-type": "application/x-www-form-urlencoded"}
        answer = await visitor.send("POST", "/plan", headers=kind, incoming=incoming)
    assert answer.status == 403


@pytest.mark.parametrize("path", ["*", ""])
@on_virtual_time
async def test_a_request_for_no_path_is_answered(path: str) -> None:
    async with management_plane(Settings(), clock=loop_clock()) as plane:
        application = Application(plane.server)
        application.mounts["ui"] = FleetPages(lambda _: plane.client, clock=loop_clock())
        assert await _status_of(application, path) in (400, 403, 404)
        assert await _status_of(LocalSite(), path) == 404


async def _status_of(application: Any, path: str) -> int:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http", "method": "OPTIONS", "path": path, "raw_path": path.encode(),
        "query_string": b"", "headers": [(b"host", HOST.encode())], "client": ("127.0.0.1", 1),
        "scheme": "http", "http_version": "1.1", "state": {},
    }  # fmt: skip
    await application(scope, receive, send)
    status: int = sent[0]["status"]
    return status
