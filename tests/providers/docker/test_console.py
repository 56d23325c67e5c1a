"""Logs of containers and commands in them, as a user's command asks for them."""

from __future__ import annotations

import asyncio
import io
import json
import re
import subprocess
import tarfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kapy.containers import Engine, EngineUnreachable
from kapy.kube import Document
from kapy.providers.docker.boot_log import PATH
from kapy.providers.docker.console import LARGEST, ContainerConsole
from kapy.providers.docker.containers import BelongsToAnother
from kapy.providers.docker.published import published_at
from kapy.sdk.console import CommandStreams, ConsoleUnavailable, LogRequest, MachineTarget
from tests.containers.engine_server import RECORDED, EngineServer, Ran

pytestmark = pytest.mark.sockets


@pytest.fixture
def server() -> EngineServer:
    """An engine with a running container `t1` of Cluster `c`."""
    answers: list[tuple[str, str | bytes]] = [
        ("GET .*/version", "version"),
        ("GET .*/info", "info"),
        ("GET .*/containers/t1/json", "running"),
    ]
    return EngineServer(answers)


@pytest.fixture
async def console(server: EngineServer, tmp_path: Path) -> AsyncIterator[ContainerConsole]:
    async with (
        server.listening(tmp_path) as address,
        ContainerConsole(lambda: Engine(address)) as console,
    ):
        yield console


def target(*, provider_id: str = "docker:////t1", cluster: str = "c") -> MachineTarget:
    machine: Document = {
        "kind": "Machine",
        "metadata": {"name": "t1", "namespace": "default"},
        "spec": {"clusterName": cluster},
    }
    infra: Document = {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "DevMachine",
        "metadata": {"name": "t1", "namespace": "default"},
        "spec": {"backend": {"docker": {}}, "providerID": provider_id},
    }
    return MachineTarget(machine=machine, infra=infra)


async def read(console: ContainerConsole, source: str, **wanted: Any) -> str:
    pieces = console.logs(target(), LogRequest(source=source, **wanted))
    return b"".join([piece async for piece in pieces]).decode()


def archive(text: str) -> bytes:
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            entry = tarfile.TarInfo(PATH.rpartition("/")[2])
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
        return file.getvalue()


async def test_a_journal_is_read_by_journalctl(
    console: ContainerConsole, server: EngineServer
) -> None:
    server.run = lambda _: (0, b"started\n", b"")
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert await read(console, "kubelet", tail=5, since=moment) == "started\n"
    (ran,) = server.ran
    assert ran.command[0] == "journalctl"
    assert {"--unit=kubelet", "--lines=5", "--since=@1767225600"} <= set(ran.command)
    assert "--follow" not in ran.command
    await read(console, "journal", follow=True)
    assert "--follow" in server.ran[1].command
    assert not [text for text in server.ran[1].command if "--unit" in text]


class Log:
    """The log of boot data in a container whose commands are run by this machine's shell."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "boot.log"

    def run(self, ran: Ran) -> tuple[int, bytes, bytes]:
        """Run a command, which does not follow the log."""
        command = [text.replace(PATH, str(self.path)) for text in ran.command]
        follow, command[-1] = command[-1], ""
        done = subprocess.run(command, capture_output=True, check=False, timeout=60)
        return done.returncode, done.stdout + (b"new\n" if follow else b""), done.stderr


async def test_the_boot_log_is_read_from_its_file(
    console: ContainerConsole, server: EngineServer, tmp_path: Path
) -> None:
    log = Log(tmp_path)
    server.run = log.run
    log.path.write_text("two\nthree\n")
    log.path.with_suffix(".log.1").write_text("one\n")
    assert await read(console, "bootstrap") == "one\ntwo\nthree\n"
    assert await read(console, "bootstrap", tail=2) == "two\nthree\n"
    assert await read(console, "bootstrap", tail=0) == ""
    assert await read(console, "bootstrap", tail=1, follow=True) == "three\nnew\n"
    log.path.write_text("== 2026-01-01T10:00:00Z runcmd[0]: exit status 0\nlast\n")
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    assert await read(console, "bootstrap", since=moment, follow=True) == "last\nnew\n"


@pytest.mark.parametrize("stopped", [False, True])
async def test_the_end_of_a_large_log_is_shown(
    console: ContainerConsole, server: EngineServer, tmp_path: Path, stopped: bool
) -> None:
    log = Log(tmp_path)
    server.run = log.run
    text = "x" * 99 + "\n"
    whole = text * (LARGEST // 100 + 100_000)
    log.path.write_text(whole)
    if stopped:
        server.answer("GET .*/containers/t1/json", "exited")
        server.answer("GET .*/archive", archive(whole))
        server.answer("GET .*/archive .*[.]1$", "no-container")
    name = await read(console, "bootstrap")
    first, _, rest = name.partition("\n")
    assert re.fullmatch(r"== only the last 12 MiB of \S+ are shown; read the rest .*", first)
    assert rest == whole[-LARGEST:]
    assert await read(console, "bootstrap", tail=3) == text * 3


async def test_a_container_without_a_shell_has_its_file_read(
    console: ContainerConsole, server: EngineServer
) -> None:
    server.run = lambda _: (127, b"", b"exec: /bin/sh: no such file\n")
    server.answer("GET .*/archive", archive("one\n"))
    server.answer("GET .*/archive .*[.]1$", "no-container")
    assert await read(console, "bootstrap", tail=1) == "one\n"


async def test_logs_of_a_stopped_container_are_read_without_a_command(
    console: ContainerConsole, server: EngineServer
) -> None:
    server.answer("GET .*/containers/t1/json", "exited")
    server.answer("GET .*/archive", archive("kubeadm failed\n"))
    server.answer("GET .*/archive .*[.]1$", "no-container")
    server.answer("GET .*/logs", b"Welcome to Debian!\r\n")
    assert await read(console, "bootstrap") == "kubeadm failed\n"
    assert await read(console, "boot", tail=7) == "Welcome to Debian!\r\n"
    assert server.asked[-1].query["tail"] == ["7"]
    with pytest.raises(ConsoleUnavailable, match=r"does not run \(state exited, exit code 137\)"):
        await read(console, "kubelet")
    streams = CommandStreams(output=print, errors=print)
    with pytest.raises(ConsoleUnavailable, match="no command can be run in it"):
        await console.execute(target(), ["ls"], streams)
    assert not server.ran


async def test_a_machine_without_boot_log_is_explained(
    console: ContainerConsole, server: EngineServer
) -> None:
    server.answer("GET .*/archive", "no-container")
    with pytest.raises(ConsoleUnavailable, match=r"none has been carried out yet.*--source boot"):
        await read(console, "bootstrap")


async def test_a_command_has_the_users_streams(
    console: ContainerConsole, server: EngineServer
) -> None:
    async def typed() -> AsyncIterator[bytes]:
        yield b"a"
        await asyncio.sleep(0)
        yield b"b"

    out, err = io.BytesIO(), io.BytesIO()
    server.run = lambda ran: (7, b"got " + ran.stdin, b"oh")
    streams = CommandStreams(output=out.write, errors=err.write, input=typed())
    assert await console.execute(target(), ["sh"], streams) == 7
    assert (out.getvalue(), err.getvalue()) == (b"got ab", b"oh")
    (ran,) = server.ran
    assert (ran.command, ran.tty) == (["sh"], False)


async def test_a_terminal_has_the_size_of_the_users(
    console: ContainerConsole, server: EngineServer
) -> None:
    async def sizes() -> AsyncIterator[tuple[int, int]]:
        yield 24, 80

    async def typed() -> AsyncIterator[bytes]:
        await server.resized.wait()
        yield b"exit\r"

    out = io.BytesIO()
    server.run = lambda _: (0, b"bye", b"")
    streams = CommandStreams(
        output=out.write, errors=out.write, input=typed(), tty=True, sizes=sizes()
    )
    assert await console.execute(target(), ["bash"], streams) == 0
    assert (out.getvalue(), server.ran[0].tty) == (b"bye", True)
    (resized,) = [entry for entry in server.asked if entry.path.endswith("/resize")]
    assert (resized.query["h"], resized.query["w"]) == (["24"], ["80"])


async def test_input_is_read_whole_where_its_end_cannot_be_told(
    console: ContainerConsole, server: EngineServer
) -> None:
    async def typed() -> AsyncIterator[bytes]:
        yield b"x" * 1000

    library = console._open_engine().open()
    library.docker_host = "https" + library.docker_host.removeprefix("unix")  # as over TLS
    streams = CommandStreams(output=print, errors=print, input=typed())
    assert await console.execute(target(), ["cat"], streams) == 0
    assert (server.ran[0].command, server.ran[0].stdin) == (["cat"], b"x" * 1000)


async def test_an_unreachable_machine_is_explained(
    console: ContainerConsole, server: EngineServer
) -> None:
    wanted = LogRequest(source="bootstrap")
    with pytest.raises(BelongsToAnother, match="belongs to Cluster default/c"):
        await anext(console.logs(target(cluster="other"), wanted))
    server.answer("/containers/t1/json", "no-container")
    with pytest.raises(ConsoleUnavailable, match=r"does not have: .* set DOCKER_HOST"):
        await anext(console.logs(target(), wanted))
    server.answer("/containers/c-t1/json", "no-container")
    with pytest.raises(ConsoleUnavailable, match=r"has no container yet: .*describe cluster c"):
        await anext(console.logs(target(provider_id=""), wanted))
    nobody = ContainerConsole(lambda: Engine("unix:///nonexistent/engine.sock"))
    with pytest.raises(EngineUnreachable, match="start Docker or Podman"):
        await anext(nobody.logs(target(), wanted))
    await nobody.aclose()


@pytest.mark.parametrize(
    ("engine", "port", "url"),
    [
        ("info-rootless", 6443, "https://127.0.0.1:32768"),
        ("info-rootless", 7000, ""),
        ("info", 6443, ""),
        ("desktop", 6443, "https://127.0.0.1:32768"),
    ],
)
async def test_a_hidden_server_address_is_replaced_by_the_published_one(
    console: ContainerConsole, server: EngineServer, engine: str, port: int, url: str
) -> None:
    desktop = {**RECORDED["info"]["body"], "OperatingSystem": "Docker Desktop"}
    server.answer("GET .*/info", json.dumps(desktop).encode() if engine == "desktop" else engine)
    server.answer("GET .*/networks/kind", "network")
    server.answer("GET .*/containers/c-lb/json", "running")
    assert await console.server_from_here(target(), f"https://172.17.0.3:{port}") == url


@pytest.mark.parametrize(
    ("host", "machine"), [("10.9.8.7", "10.9.8.7"), ("127.0.0.1", ""), ("localhost", "")]
)
async def test_a_remote_engine_publishes_the_api_server(
    console: ContainerConsole, server: EngineServer, host: str, machine: str
) -> None:
    server.answer("GET .*/networks/kind", "network")
    engine = console._open_engine()
    engine.address = f"tcp://{host}:2375"
    assert await published_at(engine, "172.17.0.3") == machine


async def test_a_cluster_without_load_balancer_has_no_other_way(
    console: ContainerConsole, server: EngineServer
) -> None:
    server.answer("GET .*/info", "info-rootless")
    server.answer("GET .*/networks/kind", "network")
    server.answer("GET .*/containers/c-lb/json", "no-container")
    assert await console.server_from_here(target(), "https://172.17.0.3:6443") == ""
    server.answer("GET .*/containers/other-lb/json", "running")
    with pytest.raises(BelongsToAnother):
        await console.server_from_here(target(cluster="other"), "https://172.17.0.3:6443")


def test_only_machines_of_the_docker_backend_are_served() -> None:
    infra = target().infra
    assert ContainerConsole().serves(infra)
    assert not ContainerConsole().serves({**infra, "spec": {"backend": {"inMemory": {}}}})
    assert not ContainerConsole().serves({**infra, "kind": "DevCluster"})
