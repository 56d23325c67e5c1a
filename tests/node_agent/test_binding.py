"""Programs that listen on the same port, whatever they are told, run beside each other."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from kapy._aio.clock import system_clock
from kapy.kube import Document
from kapy.node_agent.processes import programs, records, runtime
from kapy.node_agent.processes.binding import address_of
from kapy.node_agent.processes.programs import Program, Programs
from kapy.node_agent.processes.runtime import ProcessRuntime
from kapy.node_agent.runtime import ContainerConfig, Running, StartFailed

pytestmark = pytest.mark.sockets

LONG = 60.0
SERVER = """
import socket, sys, threading
name, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
if "--help" in sys.argv:
    sys.exit()
def serve():  # as a Go program does: from any thread
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    one = socket.socket(family)
    if family == socket.AF_INET6:
        one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind((host, port))
    one.listen()
    print(one.getsockname()[1], flush=True)
    while True:
        other, _ = one.accept()
        other.sendall(name.encode())
        other.close()
thread = threading.Thread(target=serve)
thread.start()
thread.join()
"""


def free_port() -> int:
    with socket.socket() as value:
        value.bind(("127.0.0.1", 0))
        return int(value.getsockname()[1])


def config(folder: Path, name: str, host: str, port: int) -> ContainerConfig:
    container = {"name": name, "ports": [{"containerPort": port}]}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 1}
    pod: Document = {"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": spec}
    place = folder / "pods" / name
    place.mkdir(parents=True, exist_ok=True)
    arguments = [name, host, str(port)]
    return ContainerConfig(pod, container, [], arguments, {}, [], place, None, place / "0.log")


@asynccontextmanager
async def both(
    folder: Path, host: str, port: int
) -> AsyncIterator[tuple[ProcessRuntime, list[Running]]]:
    """Two programs with the same port."""
    (folder / "server.py").write_text(SERVER)
    command = (sys.executable, str(folder / "server.py"))
    for name in "ab":
        programs.add(folder, [Program("ns", name, name, command)])
    local_programs = Programs(folder)
    local_programs.refresh()
    process_runtime = ProcessRuntime(
        local_programs, lambda pod: str(pod["metadata"]["name"]), system_clock
    )
    running: list[Running] = []
    try:
        for name in "ab":
            value = await process_runtime.start(config(folder, name, host, port))
            running.append(value)
            await answers(value, port, name)
        yield process_runtime, running
    finally:
        for value in running:
            await value.stop(5)


async def answers(running: Running, port: int, name: str) -> None:
    """Wait until a program answers where its real port is said to be."""
    async with asyncio.timeout(LONG):
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", running.ports.get(port, port)
                )
                data = await reader.read()
                writer.close()
                if data == name.encode():
                    return
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("mounts", [True, False], ids=["with mounts", "without"])
@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1", "::"])
async def test_two_programs_with_one_port_run_beside_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, *, mounts: bool
) -> None:
    if not mounts:

        async def refused() -> bool:
            return False

        monkeypatch.setattr(runtime, "_namespaces_allowed", refused)
    port = free_port()
    async with both(tmp_path, host, port) as (process_runtime, (first, second)):
        moved = second.ports[port]
        assert first.ports.get(port, port) != moved != port
        again = records.read(config(tmp_path, "b", host, port).folder)
        assert again is not None
        assert again.ports == {str(port): moved}, "a plane that is killed finds it there"
        adopted = await process_runtime.find(config(tmp_path, "b", host, port))
        assert adopted is not None
        assert adopted.ports == second.ports
        await second.stop(5)
        third = await process_runtime.start(config(tmp_path, "b", host, port))
        try:
            await answers(third, port, "b")
        finally:
            await third.stop(5)


async def test_a_port_in_use_is_reported_where_binds_cannot_be_observed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(_: list[str]) -> bool:
        return False

    monkeypatch.setattr(runtime, "can_hand_over", refused)
    with socket.socket() as result:
        result.bind(("127.0.0.1", 0))
        result.listen()
        port = result.getsockname()[1]
        with pytest.raises(StartFailed, match=f"port {port}, for which .* has no flag") as error:
            async with both(tmp_path, "127.0.0.1", port):
                pass
    assert error.value.reason == "PortInUse"


async def test_other_binds_are_unchanged(tmp_path: Path) -> None:
    """Datagrams, ports that the kernel chooses, sockets of the file system, and real errors."""
    script = tmp_path / "binds.py"
    script.write_text(
        "import errno, socket, sys\n"
        "if '--help' in sys.argv: sys.exit()\n"
        "any = socket.socket(); any.bind(('127.0.0.1', 0)); any.listen()\n"
        "one = socket.socket(type=socket.SOCK_DGRAM); one.bind(('127.0.0.1', 0))\n"
        "port = one.getsockname()[1]\n"
        "two = socket.socket(type=socket.SOCK_DGRAM)\n"
        "def fails(end, address):\n"
        "    try: end.bind(address)\n"
        "    except OSError as error: return error.errno\n"
        "assert fails(two, ('127.0.0.1', port)) == errno.EADDRINUSE\n"
        "assert fails(socket.socket(), any.getsockname()) == errno.EADDRINUSE, 'undeclared'\n"
        "assert fails(any, ('127.0.0.1', port)) == errno.EINVAL, 'it is bound'\n"
        "assert fails(socket.socket(), ('192.0.2.1', port)) == errno.EADDRNOTAVAIL\n"
        f"socket.socket(socket.AF_UNIX).bind({str(tmp_path / 'end')!r})\n"
        "print('as ever')\n"
    )
    programs.add(tmp_path, [Program("ns", "c", "c", (sys.executable, str(script)))])
    local_programs = Programs(tmp_path)
    local_programs.refresh()
    before = _listeners()
    process_runtime = ProcessRuntime(
        local_programs, lambda pod: str(pod["metadata"]["name"]), system_clock
    )
    wanted = config(tmp_path, "c", "", 9443)
    running = await process_runtime.start(wanted)
    ended = await running.ended()
    assert (ended.code, wanted.log.read_text()) == (0, "as ever\n")
    assert running.ports == {}
    assert _listeners() == before, "nothing stays open"


def _listeners() -> int:
    """The handles by which this process answers calls of others."""
    return sum("seccomp" in _target(fd) for fd in os.listdir("/proc/self/fd"))


def _target(fd: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""


@pytest.mark.parametrize(
    ("content", "address"),
    [
        (b"", None),
        (struct.pack("=H", socket.AF_UNIX) + b"/a/b/c", None),
        (struct.pack("=H", socket.AF_INET) + struct.pack("!H4B8x", 0, 1, 2, 3, 4), None),
        (struct.pack("=H", socket.AF_INET) + struct.pack("!H4B8x", 443, 1, 2, 3, 4),
         ("1.2.3.4", 443)),
        (struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", 443, 7) + bytes(15) + b"\x01",
         ("::1", 443, 7, 0)),
        (struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", 443, 0) + bytes(3), None),
    ],
)  # fmt: skip
def test_addresses_of_programs_are_read(content: bytes, address: object) -> None:
    assert address_of(content) == address
