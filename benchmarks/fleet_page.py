"""The fleet page of a plane with many clusters: how long a page takes, and how soon a change shows.

Over HTTPS with a client of its own; also in Chromium, where it and Playwright are installed. The
plane, its client and the browser share this machine.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import ssl
import time
from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from statistics import median
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
OTHERS: Final = 50
PAINTS: Final = 10
TICK: Final = 0.005
IDLE: Final = 0.15
"""Seconds of CPU in a second."""
FIRST: Final = Key("default", "goat-00000")

WATCH_TASKS: Final = """() => {
  window.tasks = [];
  new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((e) => e.duration)))
    .observe({ type: "longtask" });
}"""
PAINT: Final = """() => new Promise((done) => {
  new PerformanceObserver((list) => {
    const paint = list.getEntriesByName("first-contentful-paint")[0];
    if (paint) done(paint.startTime / 1000);
  }).observe({ type: "paint", buffered: true });
})"""
SCROLL: Final = """() => new Promise((done) => {
  const longest = [0, performance.now()], step = (now) => {
    longest[0] = Math.max(longest[0], now - longest[1]);
    longest[1] = now;
    const before = scrollY;
    scrollBy(0, 120);
    if (scrollY > before) requestAnimationFrame(step); else done(longest[0] / 1000);
  };
  requestAnimationFrame((now) => { longest[1] = now; requestAnimationFrame(step); });
})"""
"""From the top of the page to its end, 120 pixels a frame; returns the longest frame."""


class Stalls:
    """The longest time for which the event loop was held since the last look."""

    def __init__(self) -> None:
        self._longest = 0.0

    async def run(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(TICK)
            self._longest = max(self._longest, time.perf_counter() - began - TICK)

    def take(self) -> float:
        longest, self._longest = self._longest, 0.0
        return longest


async def measured(clusters: int) -> list[Row]:
    """Rows about the table of paused clusters."""
    settings = Settings(serving=Serving(), pages=Pages())
    stalls = Stalls()
    async with (
        management_plane(settings, clock=system_clock) as plane,
        asyncio.TaskGroup() as group,
    ):
        watching = group.create_task(stalls.run())
        await _fill(plane, clusters)
        await _settle()
        assert plane.kubeconfig is not None
        trusted = ssl.create_default_context(cadata=plane.kubeconfig.certificate_authority.decode())
        connector = aiohttp.TCPConnector(ssl=trusted)
        async with aiohttp.ClientSession(plane.kubeconfig.server, connector=connector) as session:
            rows = await _over_https(plane, session, stalls)
        rows += await _in_browser(plane, stalls)
        watching.cancel()
        return rows


async def _settle() -> None:
    """Wait until the controllers have looked at all clusters: the process has little to do."""
    busy = IDLE + 1
    while busy > IDLE:
        before = time.process_time()
        await asyncio.sleep(1)
        busy = time.process_time() - before


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


def _row(step: str, seconds: Sequence[float], stalls: Stalls | None = None) -> Row:
    """The median and the longest of some measurements, and the load average meanwhile."""
    row = {"step": step, "wall_s": round(median(seconds), 4), "longest_s": round(max(seconds), 4)}
    if stalls is not None:
        row["loop_held_s"] = round(stalls.take(), 4)
    return {**row, "load": round(os.getloadavg()[0], 1)}


async def _over_https(
    plane: ManagementPlane, session: aiohttp.ClientSession, stalls: Stalls
) -> list[Row]:
    async with session.get(_link(plane)) as answer:
        answer.raise_for_status()
    cookie = {"cookie": answer.headers["set-cookie"].partition(";")[0]}
    took, changes = [], []
    for number in range(PAGES + 1):
        if number == 1:
            stalls.take()  # the first page waited for the first list of the clusters
        began = time.perf_counter()
        async with session.get("/ui/", headers=cookie) as page:
            size = len(await page.read())
        took.append(time.perf_counter() - began)
    rows = [_row("the first page", took[:1]), _row(f"page of {size // 1000} KB", took[1:], stalls)]
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
    return [*rows, _row("write to new page", changes, stalls)]


async def _change(plane: ManagementPlane, number: int) -> None:
    patch = {"status": {"controlPlane": {"desiredReplicas": number + 1}}}
    await plane.client.patch(Cluster, FIRST, patch, subresource="status")


async def _in_browser(plane: ManagementPlane, stalls: Stalls) -> list[Row]:
    """The page in Chromium; nothing where it is not installed."""
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
        await page.add_init_script(f"({WATCH_TASKS})()")
        stalls.take()
        rows = [await _paints(page, stalls), await _changes(plane, page, stalls, 100)]
        async with asyncio.TaskGroup() as group:
            others = group.create_task(_change_others(plane))
            busy = await _changes(plane, page, stalls, 200)
            others.cancel()
        rows.append({**busy, "step": f"the same, {OTHERS} other changes a second"})
        rows += await _uses(page, f"{plane.kubeconfig.server}/ui/", stalls)
        await browser.close()
    return rows


async def _paints(page: Any, stalls: Stalls) -> Row:
    """Loads of the page with 100 rows, its scripts and styles in the browser's cache."""
    paints = []
    for _ in range(PAINTS):
        await page.reload()
        paints.append(await page.evaluate(PAINT))
        await asyncio.sleep(0.5)
    return _row("first paint", paints, stalls)


async def _change_others(plane: ManagementPlane) -> None:
    """Change other clusters, as controllers do, until cancelled."""
    for number in itertools.count():
        patch = {"status": {"workers": {"desiredReplicas": number}}}
        key = FIRST._replace(name=f"goat-{number % 500 + 1:05}")
        await plane.client.patch(Cluster, key, patch, subresource="status")
        await asyncio.sleep(1 / OTHERS)


async def _changes(plane: ManagementPlane, page: Any, stalls: Stalls, first: int) -> Row:
    """From a write to the changed cell."""
    cell = page.locator(f"[id='c.{FIRST.namespace}.{FIRST.name}'] .c-control-plane")
    took = []
    for number in range(first, first + CHANGES):
        await asyncio.sleep(1)
        began = time.perf_counter()
        await _change(plane, number)
        await cell.get_by_text(f"0/{number + 1}", exact=True).wait_for()
        took.append(time.perf_counter() - began)
    return {**_row("write to changed row", took, stalls), **await _tasks(page)}


async def _uses(page: Any, url: str, stalls: Stalls) -> list[Row]:
    """Search, sort, turn the page, scroll."""

    async def searches() -> None:
        await page.locator("#search").fill("")
        await page.locator("[id='c.default.goat-00000']").wait_for()
        await page.locator("#search").fill("name:goat-0077")
        await page.locator("[id='c.default.goat-00777']").wait_for()

    async def sorts() -> None:
        await page.locator("th.c-name[scope=col] a").click()
        await page.wait_for_load_state()

    async def turns() -> None:
        await page.goto(f"{url}?page=5&group=state&sort=-name")

    async def large() -> None:
        await page.goto(f"{url}?size=500")

    rows = [
        await _timed(page, stalls, step, work)
        for step, work in (
            ("search emptied and filled", searches), ("sorted by a click", sorts),
            ("page 5, grouped", turns), ("page of 500 rows", large),
        )
    ]  # fmt: skip
    frames = []
    for _ in range(3):
        await page.evaluate("scrollTo(0, 0)")
        frames.append(await page.evaluate(SCROLL))
    return [*rows, {**_row("frame while 500 rows scroll", frames, stalls), **await _tasks(page)}]


async def _timed(page: Any, stalls: Stalls, step: str, work: Callable[[], Awaitable[None]]) -> Row:
    took, tasks = [], []
    for _ in range(5):
        began = time.perf_counter()
        await work()
        took.append(time.perf_counter() - began)
        tasks.append(await _tasks(page))
    return {**_row(step, took, stalls), **max(tasks, key=lambda row: row["task_s"])}


async def _tasks(page: Any) -> Row:
    """The longest task of the page's main thread since the last look; those below 50 ms are not
    told by browsers."""
    longest = await page.evaluate("() => Math.max(0, ...(window.tasks || []).splice(0))")
    return {"task_s": round(longest / 1000, 3)}
