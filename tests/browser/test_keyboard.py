"""All of the page is used with the keyboard only: nothing is out of reach, the focus is seen."""

from __future__ import annotations

import time
from typing import Final

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import log_in
from tests.browser.fleet import Fleet, herd_member
from tests.waiting import LIMIT

pytestmark = pytest.mark.sockets

MOST_STOPS: Final = 400
REACHABLE: Final = """() => {
  const kinds = "a[href], button, input:not([type=hidden]), select, textarea, summary, " +
    "[tabindex='0']";
  const all = [...document.querySelectorAll(kinds)].filter((one) => one.checkVisibility());
  all.forEach((one, index) => { one.dataset.stop = index; });
  return all.length;
}"""
FOCUSED: Final = """() => {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const style = getComputedStyle(one), box = one.getBoundingClientRect();
  return {
    stop: Number(one.dataset.stop),
    name: one.outerHTML.slice(0, 120),
    isSeen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    isInView: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
  };
}"""


def _walk(page: Page) -> int:
    """Press Tab through the whole page, from wherever the focus is: each thing gets the focus once,
    in the order of the page, and the focus is seen. Returns how many there are."""
    count, stops = int(page.evaluate(REACHABLE)), list[int]()
    for _ in range(count + 1):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused is None:
            continue  # between the last and the first one
        assert focused["isSeen"], f"its focus is not seen: {focused['name']}"
        assert focused["isInView"], f"the page does not scroll to it: {focused['name']}"
        stops.append(focused["stop"])
    start = stops[0]
    assert stops[:count] == [*range(start, count), *range(start)]
    return count


def _tab_to(page: Page, wanted: str) -> None:
    """Press Tab until something has the focus."""
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", wanted):
            return
    raise AssertionError(f"the focus never comes to {wanted}")


def _until(page: Page, condition: str) -> None:
    """Wait until an expression is true."""
    deadline = time.monotonic() + LIMIT
    # Chromium evaluates it by `evaluate` only: the policy of the page forbids `eval`.
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(20)


def _press(page: Page, wanted: str, key: str = "Enter") -> None:
    _tab_to(page, wanted)
    page.keyboard.press(key)


@pytest.fixture
def keys(context: BrowserContext, fleet: Fleet) -> Page:
    """The fleet, for somebody who may do actions."""
    page = context.new_page()
    log_in(page, fleet.link(allow_actions=True))
    return page


def test_a_fleet_is_searched_sorted_and_left_by_keys(keys: Page, fleet: Fleet) -> None:
    keys.keyboard.press("Tab")
    expect(keys.locator(".skip")).to_be_focused()
    expect(keys.locator(".skip")).to_be_in_viewport()
    keys.keyboard.press("Enter")
    expect(keys.locator("#main")).to_be_focused()
    _tab_to(keys, "#search")
    keys.keyboard.type("name:goat-00")
    expect(keys.locator("tr.row")).to_have_count(10)
    _tab_to(keys, "select[name=group]")
    keys.keyboard.type("namespace")
    expect(keys.locator("tr.group")).to_have_count(2)
    expect(keys.locator("select[name=group]")).to_be_focused()
    _press(keys, ".c-name[scope=col] a")
    expect(keys.locator("th[aria-sort=ascending]")).to_have_text("Cluster")
    expect(keys.locator("tr.row")).to_have_count(10)
    assert _walk(keys) > 30
    keys.reload()
    _tab_to(keys, "[id='c.south.goat-004'] a")
    fleet.apply([herd_member("goat-00-kid", "south")])
    expect(keys.locator("tr.row")).to_have_count(11)
    expect(keys.locator("[id='c.south.goat-004'] a")).to_be_focused()
    keys.keyboard.press("Enter")
    expect(keys.get_by_role("heading", level=1)).to_contain_text("goat-004")
    keys.go_back()  # Alt and the left arrow; a browser without a window has no such keys
    expect(keys.locator("tr.row")).to_have_count(11)


def test_a_cluster_and_its_yaml_are_read_by_keys(keys: Page, fleet: Fleet) -> None:
    _tab_to(keys, "#search")
    keys.keyboard.type("name:heron")
    expect(keys.locator("tr.row")).to_have_count(1)
    _press(keys, ".row .c-name a")
    expect(keys.get_by_role("heading", level=1)).to_contain_text("heron")
    _press(keys, ".actions > summary")
    _press(keys, "#h-access ~ details > summary", "Space")
    expect(keys.get_by_label("YAML", exact=True)).to_be_visible()
    assert _walk(keys) > 50
    _tab_to(keys, "a[href*='window=1h']")
    keys.keyboard.press("Enter")
    expect(keys.locator(".links [aria-current=true]")).to_have_text("last hour")
    _press(keys, ".tree a[href*='/machines/']")
    expect(keys.get_by_role("heading", level=1)).to_contain_text("Machine")
    _walk(keys)
    _press(keys, "pre")
    keys.keyboard.press("End")
    _until(keys, "document.activeElement.scrollTop > 0")
    _press(keys, ".crumbs a[href*='/clusters/default/heron']")
    expect(keys.get_by_role("heading", level=1)).to_contain_text("heron")


def test_an_action_is_done_or_left_by_keys(keys: Page, fleet: Fleet) -> None:
    def preview() -> None:
        keys.goto(f"{fleet.url}clusters/default/otter")
        _press(keys, ".actions > summary")
        _press(keys, "form[action*='/actions/'] button")
        expect(keys.locator("#command")).to_contain_text("kubectl patch clusters")

    preview()
    assert _walk(keys) > 6
    preview()
    _press(keys, "main form a")
    expect(keys.locator("h1 .state")).to_have_text("provisioning")
    preview()
    _press(keys, "main form button")
    expect(keys.locator("h1 .state")).to_have_text("paused")


@pytest.mark.parametrize("path", ["plan", "providers"])
def test_the_other_pages_are_walked_through(keys: Page, fleet: Fleet, path: str) -> None:
    keys.goto(f"{fleet.url}{path}")
    assert _walk(keys) > 5
