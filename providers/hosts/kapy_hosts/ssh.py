"""Connections to hosts over SSH. No other module knows asyncssh.

Connections are shared by the callers of a target and closed when they are idle. Nothing is read
from the user's SSH configuration. Output and time of every command are bounded.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import asyncssh

from kapy_hosts.shell import HostFailure, Output, Target

CONNECT_TIMEOUT: Final = 15.0
IDLE: Final = 60.0
MAX_OUTPUT: Final = 256 << 10
AT_ONCE: Final = 16
"""Handshakes at the same time."""
_PIECE: Final = 32 << 10
_KEEPALIVE: Final = 10


class _Client(asyncssh.SSHClient):
    """Compares the key of a server with the trusted one."""

    def __init__(self, trusted: str) -> None:
        self._trusted = trusted
        self.seen = ""

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        del host, addr, port
        self.seen = _text_of(key)
        return not self._trusted or _same_key(self._trusted, self.seen)


class _Open:
    """One open SSH connection to a host. users: the number of commands that are running."""

    def __init__(self, connection: Any, target: Target, host_key: str, jump_key: str) -> None:
        self.connection = connection
        self.host_key = host_key
        self.jump_key = jump_key
        self._target = target
        self._aborted = False
        self.users = 0
        self.idle_since = asyncio.get_running_loop().time()

    @property
    def is_open(self) -> bool:
        return not (self._aborted or self.connection.is_closed())

    def abort(self) -> None:
        """Abort the connection without a regular end, which a silent host never confirms."""
        self._aborted = True
        self.connection.abort()

    async def run(self, script: str, *arguments: str, stdin: bytes = b"", seconds: float = 30.0) -> Output:
        words = shlex.join(["/bin/sh", "-c", script, "sh", *arguments])
        command = f"sudo -n -- {words}" if self._target.sudo else words
        self.users += 1
        try:
            async with asyncio.timeout(seconds):
                output = await self._execute(command, stdin)
        except TimeoutError:
            self.abort()
            raise HostFailure("NoAnswer", f"{self._target} did not end a command within {seconds:g} s") from None
        except (OSError, asyncssh.Error) as error:
            self.abort()
            raise HostFailure("NoAnswer", f"the connection to {self._target} was lost: {_words(error)}") from None
        finally:
            self.users -= 1
            self.idle_since = asyncio.get_running_loop().time()
        if self._target.sudo and output.code == 1 and output.stderr.startswith("sudo:"):
            raise HostFailure(
                "SudoRefused",
                f"{self._target} may not use sudo without a password: add a line such as "
                f"`{self._target.user} ALL=(ALL) NOPASSWD: ALL` to /etc/sudoers.d/kapy",
            )
        return output

    async def _execute(self, command: str, stdin: bytes) -> Output:
        async with self.connection.create_process(command, encoding=None) as process:
            _, stdout, stderr = await asyncio.gather(
                _send(process.stdin, stdin), _tail(process.stdout), _tail(process.stderr)
            )
            result = await process.wait()
        if result.returncode is None and self.connection.is_closed():
            raise ConnectionError("the connection ended before the command")
        code = -1 if result.returncode is None else result.returncode
        return Output(code, stdout, stderr)


async def _send(stream: Any, data: bytes) -> None:
    with suppress(BrokenPipeError, ConnectionError):  # the command has read enough of its input
        for start in range(0, len(data), _PIECE):
            stream.write(data[start : start + _PIECE])
            await stream.drain()
        stream.write_eof()


async def _tail(stream: Any) -> str:
    tail = b""
    while piece := await stream.read(_PIECE):
        tail = (tail + piece)[-MAX_OUTPUT:]
    return tail.decode("utf-8", "replace")


class Connections:
    """All connections of a program."""

    def __init__(self) -> None:
        self._open: dict[Target, _Open] = {}
        self._locks: dict[Target, asyncio.Lock] = {}
        self._handshakes = asyncio.Semaphore(AT_ONCE)

    async def connect(self, target: Target) -> _Open:
        """Return the connection to a host, a new one or one that is open. Raises HostFailure."""
        lock = self._locks.setdefault(target, asyncio.Lock())
        async with lock:
            connection = self._open.get(target)
            if connection is not None and connection.is_open:
                return connection
            tunnel = None if target.jump is None else await self.connect(target.jump)
            connection = await self._dial(target, tunnel)
            self._open[target] = connection
            return connection

    async def _dial(self, target: Target, tunnel: _Open | None) -> _Open:
        client = _Client(target.host_key)
        key_type = target.host_key.split(" ")[0] if target.host_key else None
        try:
            keys = await _private_keys(target)
            async with self._handshakes, asyncio.timeout(CONNECT_TIMEOUT):
                connection = await asyncssh.connect(
                    target.address,
                    target.port,
                    tunnel=tunnel.connection if tunnel is not None else (),
                    config=None,
                    known_hosts=_nobody_known,
                    client_factory=lambda: client,
                    username=target.user,
                    client_keys=keys,
                    agent_path=None if keys else _agent(),
                    password=None,
                    preferred_auth="publickey",
                    server_host_key_algs=_algorithms(key_type),
                    keepalive_interval=_KEEPALIVE,
                    keepalive_count_max=3,
                    request_pty=False,
                    connect_timeout=None,
                    login_timeout=CONNECT_TIMEOUT,
                )
        except Exception as error:
            raise _failure(target, client.seen, error) from None
        return _Open(connection, target, client.seen, "" if tunnel is None else tunnel.host_key)

    async def run(self) -> None:
        """Close idle connections until cancelled, then all of them."""
        try:
            while True:
                await asyncio.sleep(IDLE / 2)  # no event shows that a connection is unused
                self._close_idle(asyncio.get_running_loop().time())
        finally:
            await self.close()

    def _close_idle(self, now: float) -> None:
        jumps = {target.jump for target in self._open}
        for target, connection in list(self._open.items()):
            idle = not connection.users and now - connection.idle_since > IDLE and target not in jumps
            if idle or not connection.is_open:
                connection.abort()
                del self._open[target]
                if not self._locks[target].locked():
                    del self._locks[target]

    async def close(self) -> None:
        """Close all connections to hosts."""
        while self._open:
            _, connection = self._open.popitem()
            connection.connection.abort()
            with suppress(Exception):
                async with asyncio.timeout(1):
                    await connection.connection.wait_closed()


@asynccontextmanager
async def connections() -> AsyncIterator[Connections]:
    """Connections for a command, closed at the end."""
    opened = Connections()
    try:
        yield opened
    finally:
        await opened.close()


async def _private_keys(target: Target) -> Any:
    if not target.private_key:
        return ()
    passphrase = target.passphrase.decode() or None
    # Deriving a key from a passphrase takes seconds.
    key = await asyncio.to_thread(asyncssh.import_private_key, target.private_key, passphrase)
    return [key]


def _agent() -> str | None:
    return os.environ.get("HOSTS_SSH_AUTH_SOCK") or os.environ.get("SSH_AUTH_SOCK")


def _algorithms(key_type: str | None) -> Any:
    """Return the signature algorithms for the type of a trusted key."""
    if key_type is None:
        return ()
    return ["rsa-sha2-512", "rsa-sha2-256"] if key_type == "ssh-rsa" else [key_type]


def _nobody_known(host: str, addr: str, port: int | None) -> Any:
    """No key is known beforehand: the client's callback decides."""
    del host, addr, port
    return ((), (), ())


def _text_of(key: Any) -> str:
    kind, data = key.export_public_key().decode().split()[:2]
    return f"{kind} {data}"


def _same_key(key: str, other: str) -> bool:
    return key.split()[:2] == other.split()[:2]


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _failure(target: Target, shown_key: str, error: Exception) -> HostFailure:
    if isinstance(error, HostFailure):
        return error
    if isinstance(error, TimeoutError):
        return HostFailure("NoAnswer", f"{target} did not answer within {CONNECT_TIMEOUT:g} s")
    if isinstance(error, ConnectionRefusedError):
        return HostFailure("Refused", f"{target} refuses connections: no SSH server listens there")
    if isinstance(error, asyncssh.HostKeyNotVerifiable) or (
        target.host_key and isinstance(error, asyncssh.KeyExchangeFailed)
    ):
        shown = f"it shows {shown_key}" if shown_key else "it has no key of the trusted type"
        return HostFailure(
            "HostKeyChanged",
            f"{target} is not the host that is trusted: {shown}. If that is intended, change "
            "spec.hostKey, or empty it to trust the next connection",
        )
    if isinstance(error, asyncssh.PermissionDenied):
        way = "its Secret" if target.private_key else "the agent (SSH_AUTH_SOCK)"
        return HostFailure("LoginRefused", f"{target} accepts no key of {way}")
    if isinstance(error, asyncssh.KeyImportError):
        return HostFailure("LoginRefused", f"the private key for {target} cannot be read: {error}")
    return HostFailure("NoAnswer", f"{target} cannot be reached: {_words(error)}")
