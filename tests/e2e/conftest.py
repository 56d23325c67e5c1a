"""These tests drive the real kubectl; without it they are not collected (one line says so)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from subprocess import CompletedProcess

import pytest

from tests.absent import has_kubectl
from tests.e2e.shell import Shell

Began = CompletedProcess[str]

collect_ignore_glob = [] if has_kubectl() or os.environ.get("CI") == "true" else ["test_*.py"]


@pytest.fixture(scope="session")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Shell, Began]]:
    """Somebody with a plane and its cluster `capybara`, and what the quickstart said."""
    shell = Shell(tmp_path_factory.mktemp("person"))
    command = ("kapy", "quickstart", "--detach", "--port", "0", "-o", "json")
    began = shell.run(*command)
    assert began.returncode == 0, began.stderr
    yield shell, began
    assert "stopped" in shell.ok("kapy", "down")


@pytest.fixture(scope="session")
def person(begun: tuple[Shell, Began]) -> Shell:
    """Somebody with a plane and its cluster `capybara`, which the tests leave as it is."""
    shell, _ = begun
    return shell
