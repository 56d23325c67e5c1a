"""Logs of machines that are containers, and commands in these machines.

The user's command connects to the container engine like the provider (`DOCKER_HOST`, the Docker
context, the sockets), in whatever process the provider runs.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import ClassVar, Final
from urllib.parse import urlsplit

from kapy.api.names import Label
from kapy.containers import Container, Engine, NoSuchObject, Session, Tail
from kapy.kube import Document
from kapy.providers.docker import boot_log
from kapy.providers.docker.backend import is_docker
from kapy.providers.docker.containers import (
    check_owner,
    load_balancer_container,
    machine_container,
)
from kapy.providers.docker.published import PublishedAddresses, published_at
from kapy.sdk.console import (
    CommandStreams,
    ConsoleUnavailable,
    LogRequest,
    MachineConsole,
    MachineTarget,
)

BOOTSTRAP: Final = "bootstrap"
BOOT: Final = "boot"
JOURNAL: Final = "journal"
LARGEST: Final = 12 << 20
"""Bytes that are read of the end of each part of the log of boot data. Parts that kapy writes are
smaller; programs of the image may write more."""
_CUT: Final = (
    f"== only the last {LARGEST >> 20} MiB of {boot_log.PATH} are shown; read the rest with "
    "`kapy exec`\n"
).encode()
_LINE: Final = 1024
"""Bytes of the line with the sizes of the parts, at most."""
_KINDS: Final = frozenset(("DevMachine", "DockerMachine"))


class ContainerConsole(MachineConsole):
    """The console of machines that are containers. open_engine: connects to the container engine;
    raises EngineUnreachable.
    """

    sources: ClassVar[Mapping[str, str]] = {
        BOOTSTRAP: "what the commands of the boot data printed",
        "kubelet": "the journal of the kubelet",
        "containerd": "the journal of containerd",
        JOURNAL: "the whole journal",
        BOOT: "what systemd printed when the container started",
    }

    def __init__(self, open_engine: Callable[[], Engine] = Engine.from_environment) -> None:
        self._open = open_engine
        self._engine: Engine | None = None

    def serves(self, infra: Document) -> bool:
        return infra["kind"] in _KINDS and is_docker(infra)

    async def logs(self, target: MachineTarget, wanted: LogRequest) -> AsyncIterator[bytes]:
        container = await self._container(target)
        if wanted.source == BOOT:
            since = wanted.since.timestamp() if wanted.since else 0.0
            async with self._open_engine().output(
                container.name, follow=wanted.follow, tail=wanted.tail, since=since
            ) as pieces:
                async for piece in pieces:
                    yield piece
            return
        if wanted.source == BOOTSTRAP:
            async for piece in self._bootstrap(container, wanted):
                yield piece
            return
        _check_runs(container, f"source {wanted.source} is read by a command in it")
        async with self._open_engine().follow_command(container.name, journal(wanted)) as pieces:
            async for piece in pieces:
                yield piece

    async def execute(
        self, target: MachineTarget, command: Sequence[str], streams: CommandStreams
    ) -> int:
        container = await self._container(target)
        _check_runs(container, "no command can be run in it")
        session = Session(
            output=streams.output,
            errors=streams.errors,
            input=streams.input,
            tty=streams.tty,
            sizes=streams.sizes,
        )
        return await self._open_engine().run_session(container.name, command, session)

    async def server_from_here(self, target: MachineTarget, server: str) -> str:
        engine, address = self._open_engine(), urlsplit(server).hostname or ""
        machine = await published_at(engine, address)
        if not machine:
            return ""
        balancer = await engine.container(load_balancer_container(target.cluster.name))
        if balancer is None:
            return ""
        addresses = PublishedAddresses()
        addresses.learn(check_owner(balancer, target.cluster), address, machine)
        return addresses.instead_of(server)

    async def versions(self) -> Mapping[str, str]:
        info = await self._open_engine().info()
        answer = {"container engine": info.version, "storage driver": info.storage_driver}
        return {**answer, "cgroups": info.cgroup_version, "security": ", ".join(info.security)}

    async def aclose(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.close()

    async def _bootstrap(self, container: Container, wanted: LogRequest) -> AsyncIterator[bytes]:
        if not container.is_running:
            yield _wanted_part(container, await self._read_stored_log(container), wanted)
            return
        mark = f"== {secrets.token_hex(16)}"
        command = boot_log.read_command(LARGEST, mark, follow=wanted.follow)
        async with self._open_engine().follow_command(container.name, command) as pieces:
            printed, rest = await _up_to(f"{mark}\n".encode(), pieces)
            past = boot_log.log_past(printed)
            if past is None:  # the image has no shell, or another `tail`
                past = await self._read_stored_log(container)
            yield _wanted_part(container, past, wanted)
            yield rest
            async for piece in pieces:
                yield piece

    async def _read_stored_log(self, container: Container) -> boot_log.LogPast:
        """Return the log, by the files of the container, running or not."""
        tails: list[Tail | None] = []
        for path in (boot_log.OLDER, boot_log.PATH):
            tail = Tail(LARGEST)
            try:
                async with self._open_engine().file(container.name, path) as pieces:
                    async for piece in pieces:
                        tail.add(piece)
            except NoSuchObject:
                tails.append(None)
            else:
                tails.append(tail)
        older, newer = (-1 if item is None else item.total for item in tails)
        content = b"".join(item.content() for item in tails if item is not None)
        return boot_log.LogPast(older, newer, content)

    async def _container(self, target: MachineTarget) -> Container:
        name = _container_name(target)
        result = await self._open_engine().container(name)
        if result is None and not target.provider_id:
            raise ConsoleUnavailable(
                f"Machine {target.name} has no container yet: "
                f"`kapy describe cluster {target.cluster.name}` shows what it waits for"
            )
        if result is None:
            raise ConsoleUnavailable(
                f"Machine {target.name} is container {name}, which the container engine at "
                f"{self._open_engine().address} does not have: it was removed, or runs on another "
                "engine; set DOCKER_HOST to the address of that one"
            )
        return check_owner(result, target.cluster)

    def _open_engine(self) -> Engine:
        if self._engine is None:
            self._engine = self._open()
        return self._engine


def _container_name(target: MachineTarget) -> str:
    if target.provider_id:
        return target.provider_id.rpartition("/")[2]
    metadata = target.infra["metadata"]
    in_pool = Label.POOL_NAME in (metadata.get("labels") or {})
    name = str(metadata["name"]) if in_pool else target.name
    return machine_container(target.cluster.name, name)


def journal(wanted: LogRequest) -> Sequence[str]:
    """Return the command that prints a journal."""
    command = ["journalctl", "--no-pager", "--output=short-iso", "--utc"]
    command.append("--lines=all" if wanted.tail is None else f"--lines={wanted.tail}")
    if wanted.source != JOURNAL:
        command.append(f"--unit={wanted.source}")
    if wanted.since is not None:
        command.append(f"--since=@{wanted.since.timestamp():.0f}")
    return [*command, "--follow"] if wanted.follow else command


def _check_runs(container: Container, otherwise: str) -> None:
    if not container.is_running:
        raise ConsoleUnavailable(
            f"container {container.name} does not run (state {container.state}, exit code "
            f"{container.exit_code}), and {otherwise}; the sources {BOOTSTRAP} and {BOOT} can "
            "still be read"
        )


async def _up_to(mark: bytes, pieces: AsyncIterator[bytes]) -> tuple[bytes, bytes]:
    """Return the bytes before a mark, and the bytes after it that were already read."""
    before, window = Tail(2 * LARGEST + _LINE), b""
    async for piece in pieces:
        window += piece
        if (at := window.find(mark)) >= 0:
            before.add(window[:at])
            return before.content(), window[at + len(mark) :]
        before.add(window[: -len(mark)])
        window = window[-len(mark) :]
    before.add(window)
    return before.content(), b""


def _wanted_part(container: Container, past: boot_log.LogPast, wanted: LogRequest) -> bytes:
    """Return the requested lines of a log. Raises ConsoleUnavailable if the log does not exist and
    cannot appear later."""
    if not past.exists and not (wanted.follow and container.is_running):
        raise ConsoleUnavailable(
            f"container {container.name} has no log of boot data ({boot_log.PATH}): none "
            f"has been carried out yet, or not by kapy; try --source {BOOT}"
        )
    content = past.content
    if wanted.since is not None:
        content = boot_log.since(content.decode(errors="replace"), wanted.since).encode()
    if wanted.tail is not None:
        return boot_log.last_lines(content, wanted.tail)
    return (_CUT if past.is_cut(LARGEST) else b"") + content
