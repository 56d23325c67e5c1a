"""Decoders for responses of an engine about containers and itself. Pure."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

PODMAN = "Podman Engine"
FRAME = struct.Struct(">BxxxL")
"""The header of a frame of output: the number of the output, and the length of the data."""
_DESKTOP = "Docker Desktop"
JSON = Mapping[str, Any]
_LIMIT_FIELDS = {"cpu": "CPUShares", "memory": "MemoryLimit", "pids": "PidsLimit"}
LIMITS = frozenset(_LIMIT_FIELDS)
"""Resources that a kubelet limits. A rootless engine limits those whose cgroup controllers the
machine delegates to its user."""
_WITH_PROCESSES = ("running", "paused")


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """The current state of a container.

    state: `created`, `running`, `exited`, `paused`, `dead` … addresses: the IPv4 and the IPv6
    address in each network; a missing address is empty. ports: host ports by container port
    (`6443/tcp`). exit_code: the exit code of its last run. started, finished: times in the engine's
    format. error: the reason for which the engine could not start it. out_of_memory: whether the
    kernel killed it for its memory use. pid: the process ID of its first process on the engine's
    machine, 0 if it does not run.
    """

    id: str
    name: str
    image: str
    state: str
    labels: Mapping[str, str] = field(default_factory=dict)
    addresses: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    ports: Mapping[str, str] = field(default_factory=dict)
    exit_code: int = 0
    started: str = ""
    finished: str = ""
    error: str = ""
    out_of_memory: bool = False
    image_id: str = ""
    pid: int = 0

    @property
    def is_running(self) -> bool:
        """Return whether the container has processes. A paused container has: they go on when a
        signal is sent to it.
        """
        return self.state in _WITH_PROCESSES

    def address(self, network: str = "") -> tuple[str, str]:
        """Return the IPv4 and IPv6 address in a network, by default in the first one with any."""
        if network in self.addresses:
            return self.addresses[network]
        return next((item for item in self.addresses.values() if any(item)), ("", ""))


def container_of(data: JSON) -> Container:
    """Decode a response of `GET /containers/{id}/json`."""
    state, config = _part(data, "State"), _part(data, "Config")
    network = _part(data, "NetworkSettings")
    return Container(
        id=str(data.get("Id", "")),
        name=str(data.get("Name", "")).lstrip("/"),
        image=str(config.get("Image", "")),
        state=str(state.get("Status", "")),
        labels=_labels(config.get("Labels")),
        addresses=_addresses(network),
        ports=_bound_ports(network),
        exit_code=int(state.get("ExitCode") or 0),
        started=str(state.get("StartedAt", "")),
        finished=str(state.get("FinishedAt", "")),
        error=str(state.get("Error") or ""),
        out_of_memory=bool(state.get("OOMKilled")),
        image_id=str(data.get("Image", "")),
        pid=int(state.get("Pid") or 0),
    )


def listed_container_of(data: JSON) -> Container:
    """Decode an item of `GET /containers/json`."""
    names = data.get("Names") or [""]
    return Container(
        id=str(data.get("Id", "")),
        name=str(names[0]).lstrip("/"),
        image=str(data.get("Image", "")),
        state=str(data.get("State", "")),
        labels=_labels(data.get("Labels")),
        addresses=_addresses(_part(data, "NetworkSettings")),
        ports={
            f"{item.get('PrivatePort')}/{item.get('Type', 'tcp')}": str(item["PublicPort"])
            for item in data.get("Ports") or ()
            if item.get("PublicPort")
        },
    )


def event_container_of(event: JSON) -> Container:
    """Decode a line of `GET /events`, whose attributes are the name, the image and the labels."""
    attributes = _labels(_part(event, "Actor").get("Attributes"))
    return Container(
        id=str(_part(event, "Actor").get("ID", "")),
        name=attributes.get("name", ""),
        image=attributes.get("image", ""),
        state=str(event.get("Action", "")),
        labels=attributes,
    )


def _part(data: JSON, name: str) -> JSON:
    part = data.get(name)
    return part if isinstance(part, dict) else {}


def _labels(data: Any) -> Mapping[str, str]:
    return {str(name): str(value) for name, value in (data or {}).items()}


def _addresses(settings: JSON) -> Mapping[str, tuple[str, str]]:
    return {
        str(name): (str(item.get("IPAddress") or ""), str(item.get("GlobalIPv6Address") or ""))
        for name, item in _part(settings, "Networks").items()
        if isinstance(item, dict)
    }


def _bound_ports(settings: JSON) -> Mapping[str, str]:
    result: dict[str, str] = {}
    for port, bindings in _part(settings, "Ports").items():
        for binding in bindings or ():
            result.setdefault(str(port), str(binding.get("HostPort") or ""))
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    """Properties of the engine.

    security: its security options (`name=rootless` …). cpus, memory: the number of CPUs and the
    memory in bytes of the engine's machine. limits: the resources (`cpu`, `memory`, `pids`) that it
    can limit for its containers. is_podman: whether it is Podman, whose API is not Docker's in
    every point. system: the operating system of the engine's machine (`Docker Desktop`, `Debian
    GNU/Linux 12`).
    """

    name: str
    version: str
    storage_driver: str
    security: tuple[str, ...] = ()
    cgroup_version: str = ""
    cpus: int = 0
    memory: int = 0
    limits: frozenset[str] = LIMITS
    is_podman: bool = False
    system: str = ""

    @property
    def is_rootless(self) -> bool:
        """Return whether the engine runs as an ordinary user."""
        return self._has_option("rootless")

    @property
    def hides_addresses(self) -> bool:
        """Return whether the addresses of containers are in a network namespace of the engine's
        user, or in a virtual machine."""
        return self.is_rootless or self.system == _DESKTOP

    @property
    def remaps_users(self) -> bool:
        """Return whether containers have user namespaces unless they ask for the host's."""
        return self._has_option("userns")

    def _has_option(self, name: str) -> bool:
        options = {part for item in self.security for part in item.split(",")}
        return f"name={name}" in options or name in options


def engine_info_of(data: JSON, version: JSON) -> EngineInfo:
    """Decode the responses of `GET /info` and `GET /version`."""
    components = [item for item in version.get("Components") or () if isinstance(item, dict)]
    is_podman = any(item.get("Name") == PODMAN for item in components)
    return EngineInfo(
        name=str(data.get("Name", "")),
        version=str(data.get("ServerVersion", "")),
        storage_driver=str(data.get("Driver", "")),
        security=tuple(map(str, data.get("SecurityOptions") or ())),
        cgroup_version=str(data.get("CgroupVersion", "")),
        cpus=int(data.get("NCPU") or 0),
        memory=int(data.get("MemTotal") or 0),
        limits=_limits(data, is_podman=is_podman),
        is_podman=is_podman,
        system=str(data.get("OperatingSystem", "")),
    )


def _limits(data: JSON, *, is_podman: bool) -> frozenset[str]:
    """Return the resources that the engine can limit; without a cgroup driver, none is reliable.

    Podman looks for the CPU shares of cgroup v1 only, and says on cgroup v2 that there are none.
    """
    if data.get("CgroupDriver") == "none":
        return frozenset()
    limits = {name for name, field in _LIMIT_FIELDS.items() if data.get(field) is not False}
    return frozenset(limits | {"cpu"} if is_podman else limits)


class Network(NamedTuple):
    """A network of the engine. subnets: its subnets in CIDR notation. gateways: the addresses of
    the engine's machine in it, one for each subnet that has one."""

    name: str
    subnets: tuple[str, ...]
    labels: Mapping[str, str]
    gateways: tuple[str, ...] = ()


def network_of(data: JSON) -> Network:
    """Decode a response of `GET /networks/{id}`."""
    configs = _part(data, "IPAM").get("Config") or ()
    subnets = tuple(str(item["Subnet"]) for item in configs if item.get("Subnet"))
    gateways = tuple(str(item["Gateway"]) for item in configs if item.get("Gateway"))
    return Network(str(data.get("Name", "")), subnets, _labels(data.get("Labels")), gateways)


class Image(NamedTuple):
    """An image of the engine. digests: `repository@sha256:…`. user: the user of its program, "" for
    root. command: its default command."""

    id: str
    digests: tuple[str, ...]
    user: str
    command: tuple[str, ...]


def image_of(data: JSON) -> Image:
    """Decode a response of `GET /images/{name}/json`."""
    config = _part(data, "Config")
    command = [*(config.get("Entrypoint") or ()), *(config.get("Cmd") or ())]
    return Image(
        str(data.get("Id", "")),
        tuple(map(str, data.get("RepoDigests") or ())),
        str(config.get("User") or ""),
        tuple(map(str, command)),
    )


class CommandResult(NamedTuple):
    """The exit code of a command, and the end of each of its outputs."""

    exit_code: int
    stdout: str
    stderr: str


class File(NamedTuple):
    """A file to put into a container."""

    path: str
    content: bytes
    mode: int = 0o644


def volume_of(container: str) -> str:
    """Return the volume of a container's `/var` on Podman, whose anonymous volumes allow no
    devices.
    """
    return f"{container}-var"
