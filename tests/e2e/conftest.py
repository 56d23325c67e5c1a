"""These tests drive the real kubectl; without it they are not collected (one line says so)."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.absent import has_kubectl
from tests.e2e.shell import Shell

collect_ignore_glob = [] if has_kubectl() or os.environ.get("CI") == "true" else ["test_*.py"]


@pytest.fixture(scope="session")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Somebody with a plane and its cluster `capybara`, which the tests leave as it is."""
    shell = Shell(tmp_path_factory.mktemp("person"))
    shell.ok("kapy", "quickstart", "--detach", "--port", "0")
    yield shell
    assert "stopped" in shell.ok("kapy", "down")
