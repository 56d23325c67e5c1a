"""Ports of this host for programs that would all listen on the same ones."""

from __future__ import annotations

import errno
import socket
from collections.abc import MutableMapping
from functools import partial

from kapy.node_agent.processes.flags import LOOPBACK, FreePort


class OwnPorts:
    """Ports that are given to programs. A program that starts again gets the same, if they are
    free."""

    def __init__(self) -> None:
        self._given: dict[str, dict[int, int]] = {}

    def of(self, owner: str) -> FreePort:
        """Gives free ports to one program."""
        return partial(self._port, self._given.setdefault(owner, {}))

    def keep(self, owner: str, ports: MutableMapping[int, int]) -> None:
        """A program has these ports already."""
        self._given[owner] = dict(ports)

    def forget(self, owner: str) -> None:
        """A program is gone for good."""
        self._given.pop(owner, None)

    def _port(self, given: dict[int, int], wanted: int) -> int:
        known = given.get(wanted)
        if known is None or not _is_free(known):
            taken = {port for ports in self._given.values() for port in ports.values()}
            given[wanted] = _free_port(taken)
        return given[wanted]


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def is_taken(port: int) -> bool:
    """Whether a port is in use, at whatever address of this host."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("", port))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False


def _free_port(taken: set[int]) -> int:
    while True:
        with socket.socket() as one:
            one.bind((LOOPBACK, 0))
            port = int(one.getsockname()[1])
        if port not in taken:
            return port
