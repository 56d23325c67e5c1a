"""Hosts in memory behind one SSH server, a host for each address 127.x.y.z: for benchmarks.

`python -m simulated_hosts.ssh_server` prints the port, and the private key that is accepted.
"""

from __future__ import annotations

import asyncio
import shlex
import sys
from typing import Any

import asyncssh

from kapy._aio.clock import system_clock
from simulated_hosts.memory_hosts import MemoryHost

HOSTS: dict[str, MemoryHost] = {}
USER_KEY = asyncssh.generate_private_key("ssh-ed25519")


class Server(asyncssh.SSHServer):
    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return key == USER_KEY.convert_to_public()


async def answer(process: Any) -> None:
    """Run a command as the host at the address to which the client has connected."""
    address = process.get_extra_info("sockname")[0]
    host = HOSTS.setdefault(address, MemoryHost(address, lambda: system_clock().timestamp()))
    _, _, script, _, *arguments = shlex.split(process.command)
    output = await host.run(script, *arguments, stdin=await process.stdin.read())
    process.stdout.write(output.stdout.encode())
    process.stderr.write(output.stderr.encode())
    process.exit(output.code)


async def serve() -> None:
    server = await asyncssh.create_server(
        Server,
        "0.0.0.0",  # all of 127.0.0.0/8
        0,
        server_host_keys=[asyncssh.generate_private_key("ssh-ed25519")],
        process_factory=answer,
        encoding=None,
        backlog=512,
    )
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.write(USER_KEY.export_private_key().decode())
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)  # until the benchmark ends


if __name__ == "__main__":
    asyncio.run(serve())
