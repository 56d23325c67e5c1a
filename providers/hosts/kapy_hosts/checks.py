"""Facts about a host and problems that keep it from being used. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kapy_hosts.kinds import Facts, HostMachineSpec

MAX_SKEW: Final = 10
"""Seconds by which a host's clock may differ: certificates are valid from now on."""
CONTROL_PLANE_PORTS: Final = (6443, 2379, 2380, 10257, 10259)
_PORTS: Final = (10250,)
_CONTROLLERS: Final = ("cpu", "memory", "pids")
_TOOLS: Final = ("tar", "flock", "setsid", "base64", "ip", "mount", "systemctl")
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
_MAX_VALUE: Final = 512


class Problem(NamedTuple):
    """A failed check of a host."""

    check: str
    message: str

    def __str__(self) -> str:
        return f"{self.check}: {self.message}"


@dataclass(frozen=True, slots=True)
class Observed:
    """The facts of a host in the form of the script. claim: the content of the claim file."""

    values: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return self.values.get(name, "")

    @property
    def claim(self) -> tuple[str, str, str]:
        """ID, plane and owner of the claim that the host stores; empty texts for none."""
        words = [*self["claim"].split(), "", "", ""]
        return words[0], words[1], words[2]

    @property
    def addresses(self) -> list[str]:
        """Return the IP addresses."""
        return self["addresses"].split()[:64]

    def number(self, name: str) -> int:
        """Return a number, 0 if the host did not say one."""
        text = self[name]
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0

    def facts(self) -> Facts:
        """Return the facts for the status of the Host."""
        machine = self["architecture"]
        return Facts(
            architecture=_ARCHITECTURES.get(machine, machine),
            system=self["system"],
            cpus=self.number("cpus"),
            memory=self.number("memory"),
            disk=self.number("disk"),
            kubernetes=self["kubeadm"],
            runtime=self["runtime"],
            boot_id=self["boot_id"],
            addresses=self.addresses,
        )


def observed(text: str) -> Observed:
    """Read the output of the script."""
    pairs = (line.partition("=") for line in text.splitlines())
    return Observed({name: value.strip()[:_MAX_VALUE] for name, sign, value in pairs if sign})


def general_problems(observed: Observed, now: float, ignored: Iterable[str]) -> list[Problem]:
    """Return what is wrong with a free host for every machine."""
    return _without(_general(observed, now), ignored)


def machine_problems(
    observed: Observed, spec: HostMachineSpec, version: str, ignored: Iterable[str], *, control_plane: bool
) -> list[Problem]:
    """Return the problems of a host as one machine, in addition to the general problems."""
    return _without(_of_machine(observed, spec, version, control_plane=control_plane), ignored)


def _without(problems: Iterable[Problem], ignored: Iterable[str]) -> list[Problem]:
    ignored_names = set(ignored)
    return [problem for problem in problems if problem.check not in ignored_names]


def _general(observed: Observed, now: float) -> Iterator[Problem]:
    if observed["user"] != "0":
        yield Problem("privileges", "commands are not run as root; set spec.sudo")
    if observed["kernel"] != "Linux":
        yield Problem("system", f"{observed['kernel'] or 'the system'} is not Linux")
    if observed["init"] != "systemd":
        yield Problem("system", "systemd does not run")
    if missing := [tool for tool in _TOOLS if tool in observed["missing"].split()]:
        yield Problem("tools", f"missing: {', '.join(missing)}")
    controllers = observed["controllers"].split()
    if absent := [controller for controller in _CONTROLLERS if controller not in controllers]:
        yield Problem("cgroups", f"controllers are missing: {', '.join(absent)}")
    if observed["swap"]:
        yield Problem("swap", f"swap is on: {observed['swap']} (swapoff -a, and /etc/fstab)")
    skew = observed.number("time") - now
    if abs(skew) > MAX_SKEW:
        yield Problem("time", f"the clock differs by {skew:+.0f} s; run an NTP client")
    if observed["writable"] != "yes":
        yield Problem("disk", "/var/lib/kapy-hosts cannot be written: full or read-only")
    if observed["used"]:
        yield Problem("used", f"it is part of a cluster already: {observed['used']}")


def _of_machine(observed: Observed, spec: HostMachineSpec, version: str, *, control_plane: bool) -> Iterator[Problem]:
    facts = observed.facts()
    if spec.architecture and facts.architecture != spec.architecture:
        yield Problem("architecture", f"{facts.architecture or 'unknown'}, wanted {spec.architecture}")
    for name, there, least, unit in (
        ("cpus", facts.cpus, spec.min_cpus, "CPUs"),
        ("memory", facts.memory, spec.min_memory, "MiB"),
        ("disk", facts.disk, spec.min_disk, "MiB below /var/lib"),
    ):
        if there < least:
            yield Problem(name, f"{there} {unit}, wanted at least {least}")
    ports = _PORTS + (CONTROL_PLANE_PORTS if control_plane else ())
    if taken := sorted(_listening(observed) & set(ports)):
        yield Problem("ports", f"in use: {', '.join(map(str, taken))}")
    if not facts.runtime:
        yield Problem("runtime", "no socket of containerd or CRI-O below /run")
    for source, tool in (("archive", "curl"), ("repository", "apt-get")):
        if getattr(spec.install, source, None) is not None and tool in observed["missing"].split():
            yield Problem("install", f"install.{source} needs {tool}, which is missing")
    if spec.install is None:
        yield from _versions(observed, version)


def _listening(observed: Observed) -> set[int]:
    words = observed["ports"].split()
    return {int(word, 16) for word in words if 0 < len(word) <= 4 and word.isalnum() and _is_hex(word)}


def _is_hex(text: str) -> bool:
    return all(char in "0123456789abcdefABCDEF" for char in text)


def _versions(observed: Observed, version: str) -> Iterator[Problem]:
    kubelet = observed["kubelet"].removeprefix("Kubernetes ").strip()
    for name, there in (("kubeadm", observed["kubeadm"]), ("kubelet", kubelet)):
        if not there:
            yield Problem(name, "it is not installed; install it, or set spec.install")
        elif version and there != version:
            yield Problem(name, f"{there} is installed, wanted {version}")
