"""Connections through a SOCKS5 proxy (`socks5://`, such as `ssh -D`), which resolves names itself.

python-socks implements the protocol; the extra `kapy[socks]` installs it.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any, Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from kapy.client.dead_peers import notice_dead_peer
from kapy.client.kubeconfig import KubeconfigError

SCHEMES: Final = ("socks5://", "socks5h://")


def proxy_of(proxy: str) -> Any:
    """Return a client object for the proxy at a URL. Raises KubeconfigError without
    python-socks.
    """
    try:
        from python_socks.async_.asyncio import Proxy
    except ImportError:
        raise _no_library() from None
    return Proxy.from_url(_plain(proxy), rdns=True)


def socket_factory(proxy: str) -> Callable[..., socket.socket]:
    """Return a function like `socket.create_connection` that connects through the proxy.

    Raises KubeconfigError without python-socks.
    """
    try:
        from python_socks.sync import Proxy
    except ImportError:
        raise _no_library() from None
    through = Proxy.from_url(_plain(proxy), rdns=True)

    def dial(address: tuple[str, int], timeout: float | None = None, *_: Any) -> socket.socket:
        try:
            connection: socket.socket = through.connect(*address, timeout=timeout)
        except Exception as error:
            raise _connection_error(error) from None
        notice_dead_peer(connection)
        return connection

    return dial


class ProxyConnector(aiohttp.TCPConnector):
    """An aiohttp connector whose sockets are connected through a proxy. proxy: the object from
    `proxy_of`.
    """

    def __init__(self, proxy: Any, **more: Any) -> None:
        super().__init__(resolver=_Unresolved(), **more)
        self._way = proxy

    async def _wrap_create_connection(self, *arguments: Any, **more: Any) -> Any:
        (host, port, *_), request = more.pop("addr_infos")[0][4], more.pop("req")
        patience = more.pop("timeout").sock_connect
        more.pop("client_error", None)
        try:
            there = await self._way.connect(host, port, timeout=patience)
        except Exception as error:
            raise aiohttp.ClientProxyConnectionError(
                request.connection_key, _connection_error(error)
            ) from None
        notice_dead_peer(there)
        return await self._loop.create_connection(*arguments, sock=there, **more)


class _Unresolved(AbstractResolver):
    """A resolver that leaves name resolution to the proxy, because names may only be known
    there.
    """

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
        """Do nothing: the resolver holds no resources."""


def _plain(proxy: str) -> str:
    return proxy.replace("socks5h://", "socks5://", 1)


def _connection_error(error: Exception) -> OSError:
    return error if type(error) is OSError else ConnectionError(str(error))


def _no_library() -> KubeconfigError:
    return KubeconfigError("a proxy with socks5:// needs python-socks: pip install 'kapy[socks]'")
