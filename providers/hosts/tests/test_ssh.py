"""Connections over asyncssh's own server in this process: keys, limits, loss."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncssh
import pytest
from kapy_hosts import ssh
from kapy_hosts.shell import HostFailure, Target
from kapy_hosts.ssh import MAX_OUTPUT, Connections, connections

pytestmark = pytest.mark.sockets
HOST_KEY = asyncssh.generate_private_key("ssh-ed25519")
OTHER_KEY = asyncssh.generate_private_key("ssh-ed25519")
USER_KEY = asyncssh.generate_private_key("ssh-ed25519")
PEM = USER_KEY.export_private_key()
Handler = Callable[[Any], Awaitable[None]]


class _Server(asyncssh.SSHServer):
    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return key == USER_KEY.convert_to_public()

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        return True


async def echo(process: Any) -> None:
    data = await process.stdin.read()
    process.stdout.write(f"{process.command}\n".encode() + data)
    process.exit(0)


@asynccontextmanager
async def server(handler: Handler = echo, key: asyncssh.SSHKey = HOST_KEY) -> AsyncIterator[int]:
    ssh_server = await asyncssh.create_server(
        _Server, "127.0.0.1", 0, server_host_keys=[key], process_factory=handler, encoding=None
    )
    try:
        yield ssh_server.sockets[0].getsockname()[1]
    finally:
        ssh_server.close()
        await ssh_server.wait_closed()


def text(key: asyncssh.SSHKey) -> str:
    kind, data = key.export_public_key().decode().split()[:2]
    return f"{kind} {data}"


def target(port: int, **more: Any) -> Target:
    return Target("127.0.0.1", port, private_key=PEM, **more)


async def test_a_secret_is_not_in_the_command() -> None:
    async with server() as port, connections() as opened:
        shell = await opened.connect(target(port, sudo=True))
        output = await shell.run("cat", "an argument", stdin=b"s3cr3t")
    command, _, data = output.stdout.partition("\n")
    assert command == "sudo -n -- /bin/sh -c cat sh 'an argument'"
    assert (data, output.code) == ("s3cr3t", 0)
    assert "PRIVATE" not in repr(target(port))


async def test_the_first_key_is_reported_and_the_trusted_one_is_the_only_one() -> None:
    async with server() as port, connections() as opened:
        assert (await opened.connect(target(port))).host_key == text(HOST_KEY)
        trusted = target(port, host_key=f"{text(HOST_KEY)} comment")
        assert (await opened.connect(trusted)).is_open
        with pytest.raises(HostFailure, match=r"it shows ssh-ed25519 .*change spec\.hostKey") as no:
            await opened.connect(target(port, host_key=text(OTHER_KEY)))
        assert no.value.reason == "HostKeyChanged"
        with pytest.raises(HostFailure, match="no key of the trusted type") as no:
            await opened.connect(target(port, host_key="ssh-rsa AAAA"))
        assert no.value.reason == "HostKeyChanged"


@pytest.mark.parametrize(
    ("private_key", "message"),
    [
        (OTHER_KEY.export_private_key(), "accepts no key of its Secret"),
        (b"no key", "cannot be read"),
        (b"", r"accepts no key of the agent \(SSH_AUTH_SOCK\)"),
    ],
)
async def test_a_refused_login_says_which_key(
    private_key: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    async with server() as port, connections() as opened:
        with pytest.raises(HostFailure, match=message) as refused:
            await opened.connect(Target("127.0.0.1", port, private_key=private_key))
    assert refused.value.reason == "LoginRefused"


async def test_a_closed_port_refuses() -> None:
    async with server() as port:
        pass
    async with connections() as opened:
        with pytest.raises(HostFailure, match="no SSH server listens there") as refused:
            await opened.connect(target(port))
    assert refused.value.reason == "Refused"


async def test_a_silent_server_costs_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh, "CONNECT_TIMEOUT", 0.1)
    ended = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ended.wait()
        writer.close()

    listening = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with connections() as opened:
        with pytest.raises(HostFailure, match="did not answer within") as failure:
            await opened.connect(target(listening.sockets[0].getsockname()[1]))
    ended.set()
    listening.close()
    assert failure.value.reason == "NoAnswer"


async def test_output_is_bounded_and_its_end_is_kept() -> None:
    async def chatter(process: Any) -> None:
        for _ in range(20):
            process.stdout.write(b"x" * (MAX_OUTPUT // 10))
            await process.stdout.drain()
        process.stdout.write(b"the end")
        process.exit(3)

    async with server(chatter) as port, connections() as opened:
        output = await (await opened.connect(target(port))).run("chatter")
    assert len(output.stdout) == MAX_OUTPUT
    assert output.stdout.endswith("the end")
    assert output.code == 3


async def test_a_slow_command_ends_and_the_next_one_connects_again() -> None:
    slow = asyncio.Event()

    async def sleepy(process: Any) -> None:
        if not slow.is_set():
            slow.set()
            await process.stdin.read()
            await asyncio.sleep(60)
        await echo(process)

    async with server(sleepy) as port, connections() as opened:
        shell = await opened.connect(target(port))
        with pytest.raises(HostFailure, match=r"did not end a command within 0\.1 s"):
            await shell.run("sleep", seconds=0.1)
        assert (await (await opened.connect(target(port))).run("true")).code == 0


async def test_a_lost_connection_is_reported() -> None:
    async def cut(process: Any) -> None:
        process.channel.get_connection().abort()

    async with server(cut) as port, connections() as opened:
        with pytest.raises(HostFailure, match="was lost") as failure:
            await (await opened.connect(target(port))).run("true")
    assert failure.value.reason == "NoAnswer"


async def test_sudo_with_a_password_is_refused_with_the_way_out() -> None:
    async def refuse(process: Any) -> None:
        process.stderr.write(b"sudo: a password is required\n")
        process.exit(1)

    async with server(refuse) as port, connections() as opened:
        shell = await opened.connect(target(port, sudo=True))
        with pytest.raises(HostFailure, match="NOPASSWD") as failure:
            await shell.run("true")
    assert failure.value.reason == "SudoRefused"


async def test_a_jump_host_leads_to_the_target_and_both_keys_are_reported() -> None:
    async with server(key=OTHER_KEY) as between, server() as port, connections() as opened:
        shell = await opened.connect(target(port, jump=target(between)))
        assert (await shell.run("true")).code == 0
        assert (shell.host_key, shell.jump_key) == (text(HOST_KEY), text(OTHER_KEY))


async def test_idle_connections_are_closed() -> None:
    async with server() as port:
        opened = Connections()
        shell = await opened.connect(target(port))
        opened._close_idle(asyncio.get_running_loop().time() + ssh.IDLE + 1)
        assert not shell.is_open
        assert opened._open == {}
        await opened.close()


async def test_many_commands_share_one_connection() -> None:
    async with server() as port, connections() as opened:
        shells = await asyncio.gather(*(opened.connect(target(port)) for _ in range(50)))
        assert len(set(map(id, shells))) == 1
        outputs = await asyncio.gather(*(shells[0].run("echo", str(number)) for number in range(20)))
    assert {output.code for output in outputs} == {0}
