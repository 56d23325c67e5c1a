"""A peer that vanished without a word is noticed by the kernel, on every kind of connection."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from kapy.client.blocking import BlockingApiTransport
from kapy.client.client import Client
from kapy.client.dead_peers import notice_dead_peer
from kapy.client.https import ApiTransport
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube.http import Request
from kapy.kube.names import CONFIG_MAPS
from tests.client.test_connections import socks
from tests.client.test_https import access, plane

LIST = Request("GET", "/api/v1/configmaps")

pytestmark = [
    pytest.mark.sockets,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc for open sockets"),
]


def connections_to(url: str) -> Iterator[socket.socket]:
    """Copies of this process's sockets that are connected to a port."""
    port = int(url.rpartition(":")[2])
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as copy:
                    if copy.family == socket.AF_INET and copy.getpeername()[1] == port:
                        yield copy


def seconds_to_notice(connection: socket.socket) -> tuple[float, float]:
    """Seconds until a silent connection ends, and one that has something to send."""
    assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    tcp = [
        connection.getsockopt(socket.IPPROTO_TCP, option)
        for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    ]
    timeout = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
    return tcp[0] + tcp[1] * tcp[2], timeout / 1000


def assert_all_notice(url: str, expected: int) -> None:
    limits_of_all = [seconds_to_notice(connection) for connection in connections_to(url)]
    assert len(limits_of_all) == expected
    assert all(0 < limit <= 15 for limits in limits_of_all for limit in limits), limits_of_all


async def test_requests_watches_and_probes_detect_a_dead_peer() -> None:
    async with plane() as address:
        there = ApiTransport(access(address))
        since = (await Client(there).list(CONFIG_MAPS)).resource_version
        query = {"watch": "true", "resourceVersion": since}
        body: Any = (await there(Request("GET", LIST.path, query))).body
        await there(LIST)
        await there.probe(Request("GET", "/version"))
        assert_all_notice(address, 3)
        await body.aclose()
        await there.aclose()


async def test_connections_through_a_socks_proxy_detect_a_dead_peer() -> None:
    async with plane() as address, socks() as (url, _):
        named = replace(access(address.replace("127.0.0.1", "plane.example")), proxy=url)
        there = ApiTransport(named)
        await there(LIST)
        assert_all_notice(url, 1)
        await there.aclose()
        await _assert_command_notices(named, url)


async def test_connections_of_commands_detect_a_dead_peer() -> None:
    async with plane() as address:
        await _assert_command_notices(access(address), address)


async def _assert_command_notices(named: Kubeconfig, url: str) -> None:
    def of_command() -> None:
        transport = BlockingApiTransport(named)
        asyncio.run(transport(LIST))
        assert_all_notice(url, 1)
        transport.close()

    await asyncio.get_running_loop().run_in_executor(None, of_command)


def test_sockets_without_tcp_are_left_alone() -> None:
    left, right = socket.socketpair()
    with left, right:
        notice_dead_peer(left)
        assert not left.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    notice_dead_peer(None)


def test_options_that_a_system_lacks_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "TCP_USER_TIMEOUT")
    monkeypatch.setattr(socket, "TCP_KEEPIDLE", 9999)  # refused by the kernel
    with socket.socket() as options:
        notice_dead_peer(options)
        assert options.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
