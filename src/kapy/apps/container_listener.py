"""Serves the plane's API server on addresses that containers reach, such as an engine's bridge."""

from __future__ import annotations

import asyncio
import socket
import sys
from contextlib import AsyncExitStack
from typing import Final, NamedTuple

from kapy._aio.clock import Clock
from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, listen, server_context
from kapy.apps.credentials import CA_VALIDITY, Credentials
from kapy.apps.settings import Serving
from kapy.kube.pki import issue

_IP_FREEBIND: Final = 15
"""Linux' option to bind an address that the machine does not have yet: Podman makes a bridge with
its first container, and an engine that starts again makes its bridges anew."""
NAMES: Final = ("kubernetes", "kubernetes.default", "kubernetes.default.svc")


class _ListenRequest(NamedTuple):
    host: str
    port: int
    answer: asyncio.Future[int]


class ContainerListener:
    """Serves the API server over TLS on addresses that are requested for containers, while `run` is
    running.
    """

    def __init__(
        self, server: Server, serving: Serving, credentials: Credentials, clock: Clock
    ) -> None:
        self._server = server
        self._serving = serving
        self._made = credentials
        self._clock = clock
        self._asked: asyncio.Queue[_ListenRequest] = asyncio.Queue()

    async def run(self) -> None:
        """Handle the requests of `listen` until cancelled."""
        async with AsyncExitStack() as stack:
            while True:
                request = await self._asked.get()
                try:
                    port = await self._listen(stack, request.host, request.port)
                except OSError as error:
                    request.answer.set_exception(error)
                else:
                    request.answer.set_result(port)

    async def listen(self, host: str, port: int) -> int:
        """Listen on an address, at the given port if it is free, else at another one; returns the
        port.

        Raises OSError.
        """
        request = _ListenRequest(host, port, asyncio.get_running_loop().create_future())
        self._asked.put_nowait(request)
        return await request.answer

    async def _listen(self, stack: AsyncExitStack, host: str, port: int) -> int:
        try:
            sock = _bind(host, port)
        except OSError:
            if not port:
                raise
            sock = _bind(host, 0)
        pair = issue(
            self._made.authority,
            "kapy",
            now=self._clock(),
            names=[host, *NAMES],
            usages=("server",),
            valid=CA_VALIDITY,
            algorithm=self._serving.algorithm,
        )
        authority = self._made.authority.certificate
        tls = server_context(pair.certificate, pair.key, client_ca=authority)
        application = Application(self._server, Authenticator(self._serving.tokens))
        _, result = await stack.enter_async_context(listen(application, sock=sock, tls=tls))
        return int(result)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if sys.platform == "linux":
            sock.setsockopt(socket.IPPROTO_IP, _IP_FREEBIND, 1)
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise OSError(
            error.errno, f"cannot listen for containers on {host}: {error.strerror}"
        ) from None
    return sock
