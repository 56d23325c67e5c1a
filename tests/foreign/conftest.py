"""One plane in a process of its own, with one cluster, for programs that know nothing of kapy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.shell import Shell


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Somebody who has a plane with the cluster `capybara`, and a kubeconfig for it."""
    shell = Shell(tmp_path_factory.mktemp("foreign"))
    shell.ok("kapy", "quickstart", "--detach", "--port", "0")
    yield shell
    assert "stopped" in shell.ok("kapy", "down")
