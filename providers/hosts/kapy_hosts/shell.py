"""The interface to commands on a host, and the errors of reaching it.

Scripts are run by /bin/sh. Secrets go through standard input: the script and its arguments are
visible in the list of processes of the host.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from kapy.client import KapyError

BROKEN: Final = "Broken"


class HostFailure(KapyError):
    """A host cannot be reached or does not do what is asked.

    reason: a word for conditions: NoAnswer (silent), Refused, HostKeyChanged, LoginRefused,
    SudoRefused or Broken (it answers, but commands fail).
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Output(NamedTuple):
    """The result of a command: the last part of what it wrote, and its exit code."""

    code: int
    stdout: str
    stderr: str

    @property
    def last_lines(self) -> str:
        """The last lines, for messages."""
        text = (self.stderr.strip() or self.stdout.strip()).splitlines()
        return " | ".join(line.strip() for line in text[-4:])[-600:]


@dataclass(frozen=True, slots=True)
class Target:
    """The address and login of a host. private_key: PEM; the agent is asked if it is empty. host_key: the
    only public key that is trusted; "" trusts the key of the first connection.
    """

    address: str
    port: int = 22
    user: str = "root"
    sudo: bool = False
    host_key: str = ""
    private_key: bytes = field(default=b"", repr=False)
    passphrase: bytes = field(default=b"", repr=False)
    jump: Target | None = None

    def __str__(self) -> str:
        return f"{self.user}@{self.address}:{self.port}"


class Shell(Protocol):
    """A connection to one host. host_key, jump_key: the public keys that the servers have shown."""

    host_key: str
    jump_key: str

    async def run(self, script: str, *arguments: str, stdin: bytes = b"", seconds: float = 30.0) -> Output:
        """Run a script as root and return its result. Raises HostFailure."""


class Dialer(Protocol):
    """Opens connections to hosts."""

    async def connect(self, target: Target) -> Shell:
        """Return the connection to a host, a new one or one that is open. Raises HostFailure."""

    async def close(self) -> None:
        """Close all connections to hosts."""
