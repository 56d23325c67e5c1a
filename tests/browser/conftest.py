"""A plane with a fleet in a thread, and one Chromium for all tests of a worker."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

from tests.absent import chromium
from tests.browser.fleet import Fleet, run_fleet


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    """The plane that the browser looks at."""
    with run_fleet() as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium. It must be there in CI; elsewhere its absence is told at the end."""
    path = chromium()
    if path is None:
        message = "no Chromium is on PATH: on Debian, apt-get install chromium"
        if os.environ.get("KAPY_ALONE") or os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser window without cookies."""
    context = browser.new_context(ignore_https_errors=True, viewport={"width": 1280, "height": 800})
    context.set_default_timeout(30_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, fleet: Fleet) -> Iterator[Page]:
    """A page of the administrator. Errors of scripts and of the content policy fail the test."""
    page, problems = context.new_page(), list[str]()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: _note(message, problems))
    log_in(page, fleet.link())
    yield page
    assert problems == []


def _note(message: ConsoleMessage, problems: list[str]) -> None:
    if message.type == "error":
        problems.append(message.text)


def log_in(page: Page, link: str) -> None:
    """Follow a link to the fleet."""
    page.goto(link)
    expect(page).to_have_url(re.compile(r"/ui/$"))
