"""Reports the data and programs that this machine lacks for some of the tests."""

from __future__ import annotations

import shutil

from tests.apps import user_manager
from tests.oracle.recorded import TOPICS, is_missing
from tests.real.servers import not_real


def not_run() -> list[str]:
    """Lines about the recorded data that is present, and about tests that did not run."""
    lines = []
    if is_missing():
        lines.append(
            'recorded data: the sample in tests/data; "make test-recorded" needs ../shared'
        )
    else:
        lines.append(f"recorded data: all of {', '.join(sorted(TOPICS))}")
    if not has_kubectl():
        lines.append("not run, as kubectl is not on PATH: tests/e2e")
    if not has_go():
        lines.append("not run, as go is not on PATH: programs in Go (tests/foreign, tests/e2e)")
    if chromium() is None:
        lines.append("not run, as no Chromium is on PATH: tests/browser")
    if why := user_manager.missing():
        lines.append(f"not run, as {why}: a plane as a service of systemd (tests/apps)")
    if why := not_real():
        lines.append(f"tests/real ran against the embedded server, as {why}")
    return lines


def has_kubectl() -> bool:
    """Whether the tests that drive the real kubectl can run."""
    return shutil.which("kubectl") is not None


def has_go() -> bool:
    """Whether programs in Go can be built."""
    return shutil.which("go") is not None


def chromium() -> str | None:
    """The path of a Chromium for the tests of the pages, None if there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path is not None), None)
