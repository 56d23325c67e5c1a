"""Allocates host ports to programs that would all listen on the same ones."""

from __future__ import annotations

import errno
import socket
from collections.abc import MutableMapping
from functools import partial

from kapy.node_agent.processes.flags import LOOPBACK, FreePort


class PortAllocator:
    """Ports allocated to programs. A restarted program gets the same ports if they are free."""

    def __init__(self) -> None:
        self._given: dict[str, dict[int, int]] = {}

    def of(self, owner: str) -> FreePort:
        """Return a function that allocates ports for one program."""
        return partial(self._port, self._given.setdefault(owner, {}))

    def keep(self, owner: str, ports: MutableMapping[int, int]) -> None:
        """Record the ports of a running program."""
        self._given[owner] = dict(ports)

    def forget(self, owner: str) -> None:
        """Release the ports of a program that is gone."""
        self._given.pop(owner, None)

    def _port(self, allocated: dict[int, int], wanted: int) -> int:
        own = allocated.get(wanted)
        if own is None or not _is_free(own):
            taken = {port for ports in self._given.values() for port in ports.values()}
            allocated[wanted] = _free_port(taken)
        return allocated[wanted]


def _is_free(port: int) -> bool:
    with socket.socket() as item:
        item.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            item.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def is_taken(port: int) -> bool:
    """Return whether a port is in use on any address of this host."""
    with socket.socket() as item:
        item.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            item.bind(("", port))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False


def _free_port(taken: set[int]) -> int:
    while True:
        with socket.socket() as item:
            item.bind((LOOPBACK, 0))
            port = int(item.getsockname()[1])
        if port not in taken:
            return port
