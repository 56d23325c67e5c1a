"""Managers as processes at an API server: `kapy up` without its own, `kapy manager` beside it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from kapy import apps
from tests.e2e.shell import Shell

SAMPLES = Path(apps.__file__).parent / "samples"
MANAGERS = ("core", "bootstrap-kubeadm", "control-plane-kubeadm", "infrastructure-dev")
PATIENCE = 60.0
QUICK_LEASE = (
    "--leader-elect",
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=3s",
    "--leader-elect-retry-period=500ms",
)


@contextmanager
def process(shell: Shell, *command: str, says: str) -> Iterator[subprocess.Popen[str]]:
    """A process that runs until the block is left; it has said something by then."""
    with subprocess.Popen(
        command,
        env=shell.environ,
        cwd=shell.home,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as started:
        assert started.stdout is not None
        try:
            line = next((one for one in started.stdout if says in one), "")
            assert line, f"{' '.join(command)} never said {says!r}"
            yield started
        finally:
            started.send_signal(signal.SIGCONT)
            started.terminate()
            started.stdout.read()


@contextmanager
def plane(shell: Shell, *more: str) -> Iterator[None]:
    """An API server without controllers; kubectl knows the way."""
    without = [f"--without={name}" for name in MANAGERS]
    command = ("kapy", "up", "--in-memory", "--port=0", *without, *more)
    with process(shell, *command, says="is current"):
        yield


def manager(shell: Shell, name: str, *more: str, kubeconfig: str = "") -> Any:
    """One manager as a process, at work or ready to."""
    given = (f"--kubeconfig={kubeconfig}",) if kubeconfig else ()
    quiet = ("--health-addr=0", "--diagnostics-address=0")
    command = ("kapy", "manager", name, *quiet, "--feature-gates=ClusterTopology=true", *given)
    return process(shell, *command, *more, says="is at https://")


def until(holds: Callable[[], bool]) -> None:
    """Ask again and again, as a person would."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def available(shell: Shell, version: str) -> bool:
    """Whether the cluster is whole, all of it in a version."""
    found = shell.run("kubectl", "get", "cluster,machines", "-o", "json")
    items = json.loads(found.stdout or '{"items": []}')["items"]
    clusters = [one for one in items if one["kind"] == "Cluster"]
    machines = [one for one in items if one["kind"] == "Machine"]
    conditions = {
        each["type"]: each["status"]
        for one in clusters
        for each in one.get("status", {}).get("conditions", [])
    }
    versions = {one["spec"]["version"] for one in machines}
    return conditions.get("Available") == "True" and versions == {version} and len(machines) == 3


@pytest.mark.sockets
def test_clusters_live_their_lives_with_managers_as_processes(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    with ExitStack() as stack:
        stack.enter_context(plane(shell))
        for name in MANAGERS:
            stack.enter_context(manager(shell, name))
        shell.kubectl(f"apply -f {SAMPLES / 'in-memory-cluster.yaml'}")
        until(lambda: available(shell, "v1.34.0"))
        shell.kubectl("delete cluster capybara")
        assert shell.kubectl("get machines,devmachines,kubeadmconfigs -o name") == ""

        shell.kubectl(f"apply -f {SAMPLES / 'in-memory-class.yaml'}")
        until(lambda: available(shell, "v1.34.0"))
        upgrade = '[{"op":"replace","path":"/spec/topology/version","value":"v1.35.0"}]'
        shell.ok("kubectl", "patch", "cluster", "capybara", "--type=json", "-p", upgrade)
        until(lambda: available(shell, "v1.35.0"))
        shell.kubectl("delete cluster capybara")
        assert shell.kubectl("get clusters,machines -o name") == ""


class Two:
    """Two core managers who are two users, and the log of what each of them wrote."""

    def __init__(self, shell: Shell, stack: ExitStack) -> None:
        self.shell = shell
        self._stack = stack
        self.log = shell.home / "audit.log"
        self.running: dict[str, subprocess.Popen[str]] = {}

    def begin(self, name: str) -> None:
        """Start one."""
        config = self.shell.json("config view --raw --flatten")
        config["users"][0]["user"] = {"token": f"{name}-token"}
        path = self.shell.home / f"{name}.kubeconfig"
        path.write_text(json.dumps(config))
        started = manager(self.shell, "core", *QUICK_LEASE, kubeconfig=str(path))
        self.running[name] = self._stack.enter_context(started)

    def wrote(self, name: str) -> list[str]:
        """When a manager wrote something that came to something, its Lease excepted."""
        events = (json.loads(one) for one in self.log.read_text().splitlines() if one.endswith("}"))
        return [
            one["requestReceivedTimestamp"]
            for one in events
            if one["user"]["username"] == name
            and one["verb"] not in ("get", "list", "watch")
            and one["objectRef"].get("resource") != "leases"
            and one.get("responseStatus", {}).get("code", 500) < 400
        ]

    def work(self, number: int) -> None:
        """Something that a core manager has to write of."""
        name = f"herd-{number}"
        group = "infrastructure.cluster.x-k8s.io"
        reference = {"apiGroup": group, "kind": "DevCluster", "name": "nobody"}
        cluster = {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Cluster",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"infrastructureRef": reference},
        }
        self.shell.kubectl("apply -f -", text=json.dumps(cluster))

        def noticed() -> bool:
            return "finalizers" in self.shell.json(f"get cluster {name}")["metadata"]

        until(noticed)


@pytest.mark.sockets
def test_a_manager_that_lost_its_lease_writes_nothing_more(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    tokens = "".join(f"{one}-token,{one},{one},system:masters\n" for one in ("one", "two", "three"))
    (tmp_path / "tokens.csv").write_text(tokens)
    with ExitStack() as stack:
        told = ("--token-auth-file=tokens.csv", "--audit-log-path=audit.log")
        stack.enter_context(plane(shell, *told))
        here = Two(shell, stack)
        here.begin("one")
        here.work(1)
        here.begin("two")
        here.running["one"].send_signal(signal.SIGSTOP)
        here.work(2)
        here.running["one"].send_signal(signal.SIGCONT)
        here.work(3)
        assert max(here.wrote("one")) < min(here.wrote("two"))

        here.begin("three")
        here.running["two"].kill()
        here.work(4)
        assert max(here.wrote("two")) < min(here.wrote("three"))
        assert here.running["one"].poll() is not None  # its work is done when it lost the Lease
