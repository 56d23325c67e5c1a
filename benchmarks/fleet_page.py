"""The fleet page of a plane with many clusters: how long a page takes, and how soon a change shows.

Over HTTPS with a client of its own; also in Chromium, where it and Playwright are installed.
"""

from __future__ import annotations

import asyncio
import shutil
import ssl
import time
from copy import deepcopy
from typing import Any, Final

import aiohttp

from kapy._aio.clock import system_clock
from kapy.api.cluster import Cluster
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.manifests import apply_manifests, class_sample
from kapy.apps.settings import Pages, Serving, Settings
from kapy.kube import Key
from kapy.kube.http import ADMIN

Row = dict[str, Any]
PAGES: Final = 30
CHANGES: Final = 20


async def measured(clusters: int) -> list[Row]:
    """Rows about the table of paused clusters."""
    settings = Settings(serving=Serving(), pages=Pages())
    async with management_plane(settings, clock=system_clock) as plane:
        await _fill(plane, clusters)
        assert plane.kubeconfig is not None
        trusted = ssl.create_default_context(cadata=plane.kubeconfig.certificate_authority.decode())
        connector = aiohttp.TCPConnector(ssl=trusted)
        async with aiohttp.ClientSession(plane.kubeconfig.server, connector=connector) as session:
            rows = await _over_https(plane, session)
        return [*rows, *await _in_browser(plane)]


async def _fill(plane: ManagementPlane, clusters: int) -> None:
    *parts, cluster = class_sample()
    await apply_manifests(plane.client, parts)
    for number in range(clusters):
        member = deepcopy(cluster)
        member["metadata"]["name"] = f"goat-{number:05}"
        member["spec"]["paused"] = True
        await plane.client.create(Cluster.RESOURCE, member)


def _link(plane: ManagementPlane) -> str:
    assert plane.pages is not None
    return plane.pages.login_path(ADMIN)


async def _over_https(plane: ManagementPlane, session: aiohttp.ClientSession) -> list[Row]:
    async with session.get(_link(plane)) as answer:
        answer.raise_for_status()
    cookie = {"cookie": answer.headers["set-cookie"].partition(";")[0]}
    took, changes = [], []
    for _ in range(PAGES):
        began = time.perf_counter()
        async with session.get("/ui/", headers=cookie) as page:
            size = len(await page.read())
        took.append(time.perf_counter() - began)
    async with session.get("/ui/live-fleet", headers=cookie) as events:
        while b"change" not in await events.content.readline():
            pass
        for number in range(CHANGES):
            await asyncio.sleep(0.5)  # the page is told of changes ten times a second at most
            began = time.perf_counter()
            await _change(plane, number)
            while b"change" not in await events.content.readline():
                pass
            async with session.get("/ui/", headers=cookie) as page:
                await page.read()
            changes.append(time.perf_counter() - began)
    return [
        {"step": f"page of {size // 1000} KB", "wall_s": round(sorted(took)[PAGES // 2], 4)},
        {"step": "change to new page", "wall_s": round(sorted(changes)[CHANGES // 2], 4)},
    ]


async def _change(plane: ManagementPlane, number: int) -> None:
    patch = {"metadata": {"labels": {"turn": str(number)}}}
    await plane.client.patch(Cluster, Key("default", "goat-00000"), patch)


async def _in_browser(plane: ManagementPlane) -> list[Row]:
    """The first paint in Chromium; nothing where it is not installed."""
    path = shutil.which("chromium")
    try:
        from playwright.async_api import async_playwright
    except ImportError:
        return []
    if path is None:
        return []
    assert plane.kubeconfig is not None
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path)
        page = await (await browser.new_context(ignore_https_errors=True)).new_page()
        await page.goto(f"{plane.kubeconfig.server}{_link(plane)}")
        await page.wait_for_url("**/ui/")
        await page.reload()
        paint = await page.evaluate(
            "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        )
        await browser.close()
    return [{"step": "first paint in Chromium", "wall_s": round(paint / 1000, 4)}]
