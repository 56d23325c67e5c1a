"""A plane as a service of a real systemd, through crashes, reboots and upgrades."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apps.user_manager import UserManager, missing, user_manager

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"systemd cannot run: {missing()}")

UNIT = "kapy-lab.service"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[UserManager]:
    with user_manager(tmp_path) as manager:
        manager.boot()
        yield manager


def status(machine: UserManager) -> dict[str, Any]:
    """The output of `kapy status`, {} if no plane is ready."""
    done = machine.run("kapy", "status", "--name", "lab", "-o", "json")
    return {} if done.returncode else dict(json.loads(done.stdout))


def main_pid(machine: UserManager) -> str:
    return machine.run("systemctl", "--user", "show", "-P", "MainPID", UNIT).stdout.strip()


def is_active(machine: UserManager) -> bool:
    return machine.run("systemctl", "--user", "is-active", UNIT).stdout.strip() == "active"


def runs_anew(machine: UserManager, before: str) -> None:
    """Wait for a ready plane in another process."""
    machine.until(
        lambda: main_pid(machine) not in ("0", before) and bool(status(machine)),
        "the plane is ready again",
    )


def test_a_plane_survives_crashes_and_reboots(machine: UserManager) -> None:
    said = machine.kapy("service install --name lab -- --port 0")
    assert f"management plane at {status(machine)['server']}" in said, "it is ready by now"
    assert "it starts when you log in" in said, "there is no loginctl that knows this user"
    machine.ok("kubectl", "create", "configmap", "kept")
    assert "state       active" in machine.kapy("service status --name lab")

    first = main_pid(machine)
    machine.ok("kill", "-9", first)
    runs_anew(machine, first)
    machine.ok("kubectl", "get", "configmap", "kept")

    second = main_pid(machine)
    machine.shut_down()
    assert machine.processes("kapy.cli.main") == []
    machine.boot()
    runs_anew(machine, second)
    machine.ok("kubectl", "get", "configmap", "kept")


def test_a_service_is_replaced_and_removed(machine: UserManager) -> None:
    machine.kapy("service install --name lab -- --port 0")
    first = main_pid(machine)
    machine.kapy("service install --name lab -- --port 0 --sync-period 5m")
    assert main_pid(machine) != first
    (line,) = machine.processes("kapy.cli.main up")
    assert line.endswith("up --name lab --port 0 --sync-period 5m")

    machine.kapy("down --name lab")
    machine.until(lambda: not is_active(machine), "a plane that was stopped stays stopped")
    done = machine.run("kapy", "service", "status", "--name", "lab")
    assert (done.returncode, "none is ready" in done.stdout) == (1, True)

    machine.kapy("service install --name lab -- --port 0")
    assert "the data of the plane stay" in machine.kapy("service uninstall --name lab")
    assert machine.processes("kapy.cli.main") == []
    assert not (machine.home / ".config" / "systemd" / "user" / UNIT).exists()
    assert "not-found" in machine.run("systemctl", "--user", "status", UNIT).stderr + machine.ok(
        "systemctl", "--user", "show", "-P", "LoadState", UNIT
    )
    assert (machine.home / ".kapy" / "lab").is_dir()


def test_a_plane_that_ends_at_once_is_reported(machine: UserManager) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = machine.run("kapy", "service", "install", "--name", "lab", "--", f"--port={port}")
        assert done.returncode == 1
        assert f"its plane ends at once: cannot listen on 127.0.0.1:{port}" in done.stderr
        assert "`kapy service uninstall --name lab` removes it" in done.stderr
    # It is tried again and again.
    machine.until(lambda: bool(status(machine)), "the plane is ready when the port is free")
