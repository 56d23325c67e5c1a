"""Simulated hosts in memory, for tests of controllers. They respond to the provider's scripts like a real host
(`test_scripts.py` tests the scripts themselves). Connections can be cut at every command.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from kapy_hosts.remote import script
from kapy_hosts.shell import HostFailure, Output, Target

FACTS = {
    "user": "0",
    "kernel": "Linux",
    "architecture": "x86_64",
    "system": "Simulated Linux 1",
    "init": "systemd",
    "controllers": "cpuset cpu io memory pids",
    "cpus": "4",
    "memory": "4000",
    "disk": "50000",
    "kubeadm": "v1.34.0",
    "kubelet": "Kubernetes v1.34.0",
    "runtime": "/run/containerd/containerd.sock",
    "boot_id": "boot-1",
    "writable": "yes",
    "ports": "0016",
}
SILENT = HostFailure("NoAnswer", "it did not answer within 15 s")


@dataclass
class MemoryHost:
    """A simulated host in memory. failure: the error of every command, None for none. cut: returns `before` or `after`
    if the connection is lost at the command with a number. boots: the claims that have booted, and `clean` for each
    release. left: the remnants that a release reports. outcome: the final state of a boot. delay: the seconds that each
    command takes. full: the scripts for which the disk has no room. lost: the scripts whose next response is lost,
    after which the host is silent.
    """

    address: str
    now: Callable[[], float]
    facts: dict[str, str] = field(default_factory=lambda: dict(FACTS))
    failure: HostFailure | None = None
    cut: Callable[[int], str] = lambda number: ""
    host_key: str = "ssh-ed25519 AAAAmemory"
    jump_key: str = ""
    claim: str = ""
    booted: str = ""
    boots: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    outcome: str = "finished"
    config: str = ""
    commands: int = 0
    delay: float = 0.0
    full: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    async def run(self, text: str, *arguments: str, stdin: bytes = b"", seconds: float = 30.0) -> Output:
        if self.failure is not None:
            raise self.failure
        if self.delay:
            await asyncio.sleep(min(self.delay, seconds))
            if self.delay > seconds:
                raise HostFailure("NoAnswer", f"it did not end a command within {seconds:g} s")
        self.commands += 1
        cut = self.cut(self.commands)
        if cut == "before":
            raise HostFailure("NoAnswer", "the connection was lost")
        output = self._answer(text, list(arguments), stdin)
        if any(text == script(name) for name in self.lost):
            self.lost, self.failure = (), SILENT
            raise SILENT
        if cut == "after":
            raise HostFailure("NoAnswer", "the connection was lost")
        return output

    def _answer(self, text: str, arguments: list[str], stdin: bytes) -> Output:
        for name in ("facts", "claim", "unclaim", "boot", "progress", "release", "forget"):
            if text == script(name) and name in self.full:
                return Output(1, "", "No space left on device\n")
            if text == script(name):
                code, said = getattr(self, f"_{name}")(*arguments)
                return Output(code, said, "")
        assert text == script("haproxy")
        if self._holder != arguments[0]:
            return Output(91, "", "")
        self.config = stdin.decode()
        return Output(0, "", "")

    @property
    def _holder(self) -> str:
        return self.claim.split(" ")[0]

    def _facts(self) -> tuple[int, str]:
        values = {**self.facts, "time": str(int(self.now())), "addresses": self.address, "claim": self.claim}
        if self.booted and self.outcome == "finished":
            values |= {"booted_id": "boot-1", "booted_addresses": self.address}
        if self.booted:
            values["used"] = "/etc/kubernetes/kubelet.conf"
        return 0, "".join(f"{name}={value}\n" for name, value in values.items())

    def _claim(self, uid: str, plane: str, owner: str) -> tuple[int, str]:
        self.claim = self.claim or f"{uid} {plane} {owner}"
        return 0, self.claim

    def _unclaim(self, uid: str) -> tuple[int, str]:
        if self._holder == uid and not self.booted:
            self.claim = ""
        return 0, ""

    def _boot(self, uid: str) -> tuple[int, str]:
        if self._holder != uid:
            return 91, ""
        if self.booted != uid:
            self.booted = uid
            self.boots.append(uid)
        return 0, ""

    def _progress(self, uid: str) -> tuple[int, str]:
        if self.booted != uid:
            return 0, "absent\n"
        return 0, f"{self.outcome}\n"

    def _release(self, uid: str) -> tuple[int, str]:
        if self.claim and self._holder != uid:
            return 91, f"held by {self.claim}"
        if self.left:
            return 0, "\n".join(self.left)
        if self.booted:
            self.boots.append("clean")
        self.claim = self.booted = ""
        return 0, "clean\n"

    def _forget(self) -> tuple[int, str]:
        self.claim = self.booted = ""
        return 0, ""


@dataclass
class MemoryDialer:
    """Hosts by their addresses. make: makes a host for an address that is asked for first."""

    hosts: dict[str, MemoryHost] = field(default_factory=dict)
    make: Callable[[str], MemoryHost] | None = None
    now: Callable[[], float] = lambda: 0.0

    async def connect(self, target: Target) -> MemoryHost:
        if target.address not in self.hosts and self.make is not None:
            self.hosts[target.address] = self.make(target.address)
        host = self.hosts.get(target.address)
        if host is None:
            raise HostFailure("Refused", f"{target} refuses connections")
        if host.failure is not None:
            raise host.failure
        if target.host_key and target.host_key != host.host_key:
            raise HostFailure("HostKeyChanged", f"{target} shows {host.host_key}")
        return host

    async def close(self) -> None:
        self.hosts.clear()
