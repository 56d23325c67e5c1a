"""The commands, at a plane that serves its network, with hosts in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from kapy_hosts import PROVIDER, provider, ssh
from kapy_hosts.commands import hosts
from kapy_hosts.kinds import Host
from simulated_hosts.memory_hosts import MemoryDialer, MemoryHost
from simulated_hosts.stories import Setup, cluster_documents

from kapy._aio.clock import system_clock
from kapy.api.machine import Machine
from kapy.client import KapyError, Key
from kapy.testing import BackgroundPlane, RunningPlane, background_plane

pytestmark = pytest.mark.sockets
Command = Callable[..., Result]


@pytest.fixture
def dialer(monkeypatch: pytest.MonkeyPatch) -> MemoryDialer:
    memory_dialer = MemoryDialer(
        {name: MemoryHost(name, lambda: system_clock().timestamp()) for name in ("one", "two")}
    )

    @asynccontextmanager
    async def connections() -> AsyncIterator[MemoryDialer]:
        yield memory_dialer

    monkeypatch.setattr(ssh, "connections", connections)
    return memory_dialer


@pytest.fixture
def there(dialer: MemoryDialer, tmp_path: Path) -> Iterator[BackgroundPlane]:
    on_paper = replace(PROVIDER, add_to=lambda runtime: provider.add_to(runtime, dialer))
    with background_plane(tmp_path / "kubeconfig", providers=[on_paper]) as plane:
        yield plane


def run(plane: BackgroundPlane, tmp_path: Path, *words: str) -> Result:
    result = CliRunner().invoke(hosts, [*words, "--kubeconfig", str(tmp_path / "kubeconfig")])
    assert result.exception is None or isinstance(result.exception, SystemExit | KapyError), result.exc_info
    return result


def until(plane: BackgroundPlane, name: str, state: str) -> Host:
    return plane.run(lambda at: at.until(Host, name, lambda host: host.status.state == state, within=30))


def test_a_host_is_added_listed_checked_drained_and_released(
    there: BackgroundPlane, dialer: MemoryDialer, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    key.write_text("PRIVATE")
    added = run(there, tmp_path, "add", "one=one", "two", "--user", "admin", "--private-key", str(key))
    assert added.output == "Host one is added\nHost two is added\n"
    assert "PRIVATE" not in added.output
    host = until(there, "one", "Free")
    assert host.spec.private_key_secret_ref is not None
    assert (host.spec.user, host.spec.private_key_secret_ref.name) == ("admin", "hosts-key")
    until(there, "two", "Free")
    listed = run(there, tmp_path, "list").output.splitlines()
    assert [line.split()[:3] for line in listed[1:]] == [["one", "one", "Free"], ["two", "two", "Free"]]
    dialer.hosts["two"].facts["swap"] = "/dev/sda2"
    checked = run(there, tmp_path, "check", "--kubernetes-version", "v1.35.0")
    assert "kubeadm: v1.34.0 is installed, wanted v1.35.0" in checked.output
    assert "swap: swap is on: /dev/sda2" in checked.output
    assert run(there, tmp_path, "drain", "one").output == "Host one is clean and unschedulable\n"
    until(there, "one", "Unschedulable")
    assert run(there, tmp_path, "release", "one").output == "Host one is clean\n"
    until(there, "one", "Free")
    dialer.hosts["one"].claim = "lost plane default/lost"
    assert run(there, tmp_path, "release", "one", "--force").output == "Host one is clean\n"
    assert dialer.hosts["one"].claim == ""
    missing = run(there, tmp_path, "drain", "three")
    assert isinstance(missing.exception, KapyError)
    claim = {"name": "worker", "uid": "u1", "cluster": "blue"}
    there.run(lambda at: at.merge(Host, "two", {"spec": {"claim": claim}}))
    refused = run(there, tmp_path, "release", "two")
    assert "Host two is in use by worker: kapy hosts drain two" in refused.output
    assert run(there, tmp_path, "release", "two", "--force").output == "Host two is clean\n"
    assert there.run(lambda at: at.client.get(Host, Key("default", "two"))).spec.claim is None


def test_an_inventory_is_checked_before_it_is_added(dialer: MemoryDialer, tmp_path: Path) -> None:
    inventory = tmp_path / "hosts.yaml"
    inventory.write_text("hosts: [{name: a, address: one}, {name: b, address: nowhere}]")
    result = CliRunner().invoke(hosts, ["check", "-f", str(inventory)], standalone_mode=False)
    lines = result.output.splitlines()
    assert lines[1].split() == ["a", "one", "nothing"]
    assert "Refused: " in lines[2]
    assert result.return_value == 1


def test_a_host_with_a_machine_is_drained(there: BackgroundPlane, dialer: MemoryDialer, tmp_path: Path) -> None:
    async def begin(at: RunningPlane) -> str:
        blue = Setup(at, dialer)
        await at.apply(cluster_documents())
        await blue.add_machine("worker")
        return (await blue.provisioned("worker", within=60)).status.host

    assert run(there, tmp_path, "add", "one").exit_code == 0
    assert there.run(begin) == "one"
    drained = run(there, tmp_path, "drain", "one")
    assert drained.output == "Machine worker is being deleted\nHost one is clean and unschedulable\n"
    assert dialer.hosts["one"].claim == dialer.hosts["one"].booted == ""
    assert there.run(lambda at: at.get(Machine, "worker")) is None
    until(there, "one", "Unschedulable")
