"""An API server that real processes serve, and its clients."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import aiohttp

from kapy._aio.clock import system_clock
from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application
from kapy.apps.api_processes.configuration import configurations_of
from kapy.apps.api_processes.pool import ApiProcesses, api_processes
from kapy.apps.audit import write_audit_log
from kapy.apps.credentials import Credentials, issue_credentials
from kapy.apps.settings import AuditLog, Serving, Settings
from tests.apiserver.network_client import TOKENS


@dataclass
class Served:
    """A server, its processes, and how they are reached."""

    server: Server
    processes: ApiProcesses
    credentials: Credentials

    @property
    def url(self) -> str:
        host, port = self.processes.address
        return f"https://{host}:{port}"

    @property
    def pids(self) -> list[int]:
        return [record.pid for record in self.processes.records]

    @asynccontextmanager
    async def session(self, token: str = "root") -> AsyncIterator[aiohttp.ClientSession]:
        """Connections of their own, so that several of them reach several processes."""
        tls = ssl.create_default_context(
            cadata=self.credentials.authority.certificate.decode("ascii")
        )
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connector = aiohttp.TCPConnector(ssl=tls)
        async with aiohttp.ClientSession(headers=headers, connector=connector) as session:
            yield session

    async def call(self, method: str, path: str, body: Any = None, token: str = "root") -> Any:
        """One request on a connection of its own; return status and body."""
        async with (
            self.session(token) as session,
            session.request(method, self.url + path, json=body) as reply,
        ):
            return reply.status, await reply.json(content_type=None)


@asynccontextmanager
async def served(
    folder: Path, processes: int = 2, *, audit: AuditLog | None = None
) -> AsyncIterator[Served]:
    """A server on disk, with its controllers and processes."""
    serving = Serving(tokens=TOKENS)
    settings = Settings(api_processes=processes, serving=serving, audit=audit)
    credentials = issue_credentials(serving, system_clock())
    server = Server.open(folder / "data", clock=system_clock)
    try:
        with write_audit_log(server, audit, system_clock):
            async with asyncio.TaskGroup() as group:
                running = group.create_task(server.run())
                await asyncio.sleep(0)
                async with api_processes(
                    server,
                    Application(server, Authenticator(TOKENS)),
                    configurations_of(server, settings, serving, credentials, ()),
                    host=serving.host,
                    port=0,
                    random=Random(1),
                ) as pool:
                    server.metric_sources.append(pool.with_metrics)
                    yield Served(server, pool, credentials)
                running.cancel()
    finally:
        server.close()
