"""Accepted connections that are passed to another process."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import ExitStack

import pytest

from kapy._aio.passed_sockets import MOST_PENDING, SocketReceiver, SocketSender
from tests.waiting import until

pytestmark = pytest.mark.sockets


class Passing:
    """A sender and a receiver. untaken: the connections that were not taken at the end."""

    def __init__(self, stack: ExitStack) -> None:
        here, there = socket.socketpair()
        self.untaken: list[socket.socket] = []
        self.sender = SocketSender(here, lambda: None, self._keep)
        self.receiver = SocketReceiver(there)
        self._stack = stack
        stack.callback(self.receiver.close)
        stack.callback(self.sender.close)

    def _keep(self, untaken: Sequence[socket.socket]) -> None:
        self.untaken.extend(untaken)
        for connection in untaken:
            self._stack.callback(connection.close)

    def connection(self) -> tuple[socket.socket, socket.socket]:
        """A connection: the end of the client, and the accepted one."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            client = socket.create_connection(listening.getsockname())
            accepted, _ = listening.accept()
        self._stack.callback(client.close)
        self._stack.callback(accepted.close)
        return client, accepted


async def test_connections_arrive_in_order_with_their_addresses() -> None:
    with ExitStack() as stack:
        passing = Passing(stack)
        clients = []
        for _ in range(3):
            client, accepted = passing.connection()
            assert passing.sender.send(accepted)
            clients.append(client)
        assert passing.sender.pending == 3
        for client in clients:
            taken, address = await passing.receiver.accept()
            assert address == client.getsockname()
            assert not taken.get_inheritable()
            with taken:
                taken.sendall(b"hello")
            assert client.recv(16) == b"hello"
        await until(lambda: passing.sender.pending == 0)


async def test_a_receiver_waits_for_a_connection() -> None:
    with ExitStack() as stack:
        passing = Passing(stack)
        async with asyncio.TaskGroup() as group:
            accepting = group.create_task(passing.receiver.accept())
            await asyncio.sleep(0.01)
            client, accepted = passing.connection()
            assert passing.sender.send(accepted)
        taken, _ = await accepting
        taken.close()
        await until(lambda: passing.sender.pending == 0)
        assert accepted.fileno() == -1  # then the end of the client is the end of the connection
        assert client.recv(16) == b""


async def test_a_receiver_that_takes_none_is_passed_a_limited_number() -> None:
    with ExitStack() as stack:
        passing = Passing(stack)
        _, accepted = passing.connection()
        for _ in range(MOST_PENDING):
            assert passing.sender.send(accepted)
        assert not passing.sender.send(accepted)
        (await passing.receiver.accept())[0].close()
        await until(lambda: passing.sender.pending == MOST_PENDING - 1)


async def test_connections_that_were_not_taken_are_returned() -> None:
    with ExitStack() as stack:
        passing = Passing(stack)
        connections = [passing.connection() for _ in range(3)]
        for _, accepted in connections:
            assert passing.sender.send(accepted)
        (await passing.receiver.accept())[0].close()
        await until(lambda: passing.sender.pending == 2)
        passing.receiver.close()
        await until(lambda: len(passing.untaken) == 2)
        assert passing.untaken == [accepted for _, accepted in connections[1:]]
        assert not passing.sender.send(passing.untaken[0])
        client, accepted = connections[1]
        accepted.sendall(b"hello")
        assert client.recv(16) == b"hello"


async def test_a_receiver_waits_when_the_sender_has_ended() -> None:
    with ExitStack() as stack:
        passing = Passing(stack)
        passing.sender.close()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await passing.receiver.accept()
        passing.receiver.close()
