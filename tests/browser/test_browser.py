"""The fleet page in Chromium: a fleet of 500, live changes, hostile texts, a lost connection.

With KAPY_PICTURES=1 the pictures of docs/how-to/watch-a-fleet.md are taken anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import log_in
from tests.browser.fleet import HACK, HERD, SHEPHERD, Fleet, herd_member, managed

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "pictures"
SERIOUS = ("serious", "critical")
CONNECTIONS = 6
"""Connections of a browser to one server over HTTP/1.1."""

expect.set_options(timeout=30_000)
pytestmark = pytest.mark.sockets


def _picture(page: Page, name: str) -> None:
    if os.environ.get("KAPY_PICTURES"):
        PICTURES.mkdir(exist_ok=True)
        page.screenshot(path=PICTURES / f"{name}.png")


def _open(page: Page, fleet: Fleet, path: str) -> None:
    page.goto(f"{fleet.url}{path}")


def _serious(page: Page) -> list[str]:
    """The serious findings of axe."""
    violations = Axe().run(page).response["violations"]
    return [
        f"{violation['id']}: {violation['nodes'][0]['html']}"
        for violation in violations
        if violation["impact"] in SERIOUS
    ]


def test_a_fleet_of_500_is_searched_and_follows_changes(page: Page, fleet: Fleet) -> None:
    expect(page.locator(".pages [role=status]")).to_contain_text(f"{HERD + 5} clusters, 1 to 100")
    _picture(page, "fleet")
    page.keyboard.press("/")
    page.keyboard.type("name:goat-49")
    expect(page.locator("tr.row")).to_have_count(10)
    expect(page).to_have_url(re.compile("search=name%3Agoat-49"))
    page.reload()
    expect(page.locator("#search")).to_have_value("name:goat-49")
    expect(page.locator("tr.row")).to_have_count(10)
    fleet.apply([herd_member("goat-49-kid", "north")])
    expect(page.locator("tr.row")).to_have_count(11)
    page.locator("#search").fill("")
    page.get_by_label("Group").select_option("namespace")
    expect(page.locator("tr.group")).to_have_text(
        [re.compile("default 4"), re.compile("north 251")]
    )
    page.get_by_role("link", name="Cluster", exact=True).click()
    expect(page.locator("th[aria-sort=ascending]")).to_have_text("Cluster")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("heron", "change freeze until Monday"),
        ("otter", "DevCluster"),
        ("ibis", "MachineDeployment"),
    ],
)
def test_the_page_explains_why_a_cluster_is_not_ready(
    page: Page, fleet: Fleet, name: str, reason: str
) -> None:
    _open(page, fleet, f"clusters/default/{name}")
    expect(page.locator("section.waits")).to_contain_text(reason)
    if name == "heron":
        expect(page.locator("section.waits")).to_contain_text("BeforeClusterUpgrade")
        _picture(page, "blocked-hook")


def test_an_upgrade_is_followed_to_its_end(page: Page, fleet: Fleet) -> None:
    _open(page, fleet, "clusters/default/capybara")
    summary = page.locator("#h-access ~ details > summary").first
    summary.click()
    fleet.patch("capybara", {"spec": {"topology": {"version": "v1.35.0"}}})
    expect(page.locator(".facts")).to_contain_text("v1.35.0")
    expect(page.locator("table.grid thead")).to_contain_text("v1.35.0")
    expect(page.locator("table.grid thead")).not_to_contain_text("v1.34.0")
    expect(page.locator("h1 .state")).to_have_text("ready")
    expect(page.locator("table.timeline")).to_contain_text("upgrade v1.34.0 → v1.35.0")
    expect(page.locator("#h-access ~ details").first).to_have_attribute("open", "")
    summary.click()
    expect(page.locator("table.tree")).not_to_contain_text("TopologyReconciled")
    page.set_viewport_size({"width": 1280, "height": 1500})
    page.evaluate("scrollTo(0, 0)")
    _picture(page, "cluster")


def test_a_live_creation_appears_and_grows(page: Page, fleet: Fleet) -> None:
    _open(page, fleet, "?search=name:lemur")
    expect(page.locator("td.empty")).to_contain_text("No cluster matches")
    fleet.apply([managed("lemur")])
    expect(page.locator("tr.row")).to_have_count(1)
    page.reload()
    expect(page.locator("tr.row .state")).to_have_text("ready")


def test_hostile_texts_stay_texts(page: Page, fleet: Fleet) -> None:
    for path in ("?search=viper", "clusters/south/viper", f"?search={HACK}&group=label:{HACK}"):
        _open(page, fleet, path)
        page.wait_for_timeout(100)
        assert page.evaluate("window.hacked") is None
        assert page.locator("main script, main img").count() == 0
    _open(page, fleet, "clusters/south/viper")
    expect(page.locator("table.events")).to_contain_text("<script>window.hacked=1</script>")


def test_a_limited_viewer_sees_only_their_namespace(context: BrowserContext, fleet: Fleet) -> None:
    page = context.new_page()
    log_in(page, fleet.link(SHEPHERD))
    expect(page.locator(".pages [role=status]")).to_contain_text(f"{HERD // 2 + 1} clusters")
    expect(page.locator(".pages")).to_contain_text("that you may see: south")
    _open(page, fleet, "clusters/north/goat-001")
    expect(page.locator("h1")).to_have_text("Not allowed")


def test_a_lost_connection_is_reported_and_restored(context: BrowserContext, fleet: Fleet) -> None:
    page = context.new_page()  # without the fixture, which fails on errors of the network
    log_in(page, fleet.link())
    with page.expect_response("**/live-fleet*"):  # what is not connected yet cannot be lost
        _open(page, fleet, "?search=name:camel")
    context.set_offline(True)
    fleet.cut()
    expect(page.locator("#lost")).to_be_visible()
    fleet.apply([herd_member("camel", "north")])
    context.set_offline(False)
    expect(page.locator("#lost")).to_be_hidden()
    expect(page.locator("tr.row")).to_have_count(1)


def _set_hidden(page: Page, *, hidden: bool) -> None:
    """Tell a page whether it is looked at. Without a window, browsers show all pages."""
    script = """(hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.evaluate(script, hidden)


def test_more_pages_are_open_than_a_browser_has_connections(
    context: BrowserContext, fleet: Fleet
) -> None:
    first = context.new_page()
    log_in(first, fleet.link())
    with first.expect_response("**/live-fleet*"):
        _open(first, fleet, "?search=name:tapir")
    _set_hidden(first, hidden=True)
    for _ in range(CONNECTIONS):
        page = context.new_page()
        with page.expect_response("**/live-cluster/**"):
            _open(page, fleet, "clusters/default/heron")
        _set_hidden(page, hidden=True)
    fleet.apply([herd_member("tapir", "north")])
    _set_hidden(first, hidden=False)
    expect(first.locator("tr.row")).to_have_count(1)
    expect(first.locator("#lost")).to_be_hidden()
    fleet.apply([herd_member("tapir-kid", "north")])
    expect(first.locator("tr.row")).to_have_count(2)


def test_an_action_shows_its_plan_first(context: BrowserContext, fleet: Fleet) -> None:
    page = context.new_page()
    log_in(page, fleet.link(allow_actions=True))
    _open(page, fleet, "clusters/default/ibis")
    page.get_by_text("Actions", exact=True).click()
    page.get_by_role("button", name="Pause…").click()
    expect(page.locator("main")).to_contain_text("kubectl patch clusters.cluster.x-k8s.io ibis")
    expect(page.locator("main")).to_contain_text("spec.paused")
    _picture(page, "action")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator("h1 .state")).to_have_text("paused")


def test_axe_finds_nothing_serious(browser: Browser, fleet: Fleet) -> None:
    findings = {}
    looks = {
        "light": (1280, ("?size=50", "clusters/default/heron", "plan", "providers")),
        "dark": (390, ("?size=50", "clusters/default/heron")),
    }
    for scheme, (width, paths) in looks.items():
        context = browser.new_context(
            ignore_https_errors=True,
            color_scheme=scheme,  # type: ignore[arg-type]
            viewport={"width": width, "height": 840},
        )
        page = context.new_page()
        log_in(page, fleet.link(allow_actions=True))
        for path in paths:
            _open(page, fleet, path)
            findings[scheme, path] = _serious(page)
            if scheme == "dark" and "heron" not in path:
                _picture(page, "phone-fleet")
        context.close()
    assert {key: violations for key, violations in findings.items() if violations} == {}
