"""The way through a SOCKS5 proxy (`socks5://`, as `ssh -D` is one), which resolves names itself.

What speaks SOCKS is python-socks, which the extra `kapy[socks]` has.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any, Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from kapy.client.kubeconfig import KubeconfigError

SCHEMES: Final = ("socks5://", "socks5h://")


def way(proxy: str) -> Any:
    """What goes through it. Raises KubeconfigError without python-socks."""
    try:
        from python_socks.async_.asyncio import Proxy
    except ImportError:
        raise _no_library() from None
    return Proxy.from_url(_plain(proxy), rdns=True)


def dialled(proxy: str) -> Callable[..., socket.socket]:
    """As `socket.create_connection`, through it. Raises KubeconfigError without python-socks."""
    try:
        from python_socks.sync import Proxy
    except ImportError:
        raise _no_library() from None
    through = Proxy.from_url(_plain(proxy), rdns=True)

    def dial(address: tuple[str, int], timeout: float | None = None, *_: Any) -> socket.socket:
        try:
            return through.connect(*address, timeout=timeout)
        except Exception as error:
            raise _lost(error) from None

    return dial


class Through(aiohttp.TCPConnector):
    """aiohttp's connections, on sockets that a proxy connected. way: to it (`way`)."""

    def __init__(self, way: Any, **more: Any) -> None:
        super().__init__(resolver=_Unresolved(), **more)
        self._way = way

    async def _wrap_create_connection(self, *arguments: Any, **more: Any) -> Any:
        (host, port, *_), asked = more.pop("addr_infos")[0][4], more.pop("req")
        patience = more.pop("timeout").sock_connect
        more.pop("client_error", None)
        try:
            there = await self._way.connect(host, port, timeout=patience)
        except Exception as error:
            raise aiohttp.ClientProxyConnectionError(asked.connection_key, _lost(error)) from None
        return await self._loop.create_connection(*arguments, sock=there, **more)


class _Unresolved(AbstractResolver):
    """Leaves names to the proxy: they may mean something only there."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            {
                "hostname": host,
                "host": host,
                "port": port,
                "family": family,
                "proto": 0,
                "flags": 0,
            }
        ]

    async def close(self) -> None:
        """There is nothing to close."""


def _plain(proxy: str) -> str:
    return proxy.replace("socks5h://", "socks5://", 1)


def _lost(error: Exception) -> OSError:
    return error if type(error) is OSError else ConnectionError(str(error))


def _no_library() -> KubeconfigError:
    return KubeconfigError("a proxy with socks5:// needs python-socks: pip install 'kapy[socks]'")
