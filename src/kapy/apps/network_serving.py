"""A plane's API server on the network: served by the plane's process, or by API processes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from kapy._aio.clock import Clock
from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, listen, server_context
from kapy.apps.credentials import Credentials
from kapy.apps.fleet_pages import fleet_pages
from kapy.apps.settings import Serving, Settings
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube.errors import KapyError
from kapy.kube.http import User

if TYPE_CHECKING:
    from kapy.apps.api_processes.pool import ApiProcesses
    from kapy.ui.application import FleetPages


class CannotListen(KapyError):
    """The plane cannot listen on its address; the message says what to do."""


@dataclass(frozen=True, slots=True)
class NetworkAccess:
    """The access to a plane over the network. kubeconfig: the kubeconfig of the administrator.
    pages: the fleet page, None if it is not served. api_processes: the processes that serve the API
    server, None if the plane's process serves it.
    """

    kubeconfig: Kubeconfig
    pages: FleetPages | None
    api_processes: ApiProcesses | None


@asynccontextmanager
async def serve_network(
    server: Server,
    settings: Settings,
    serving: Serving,
    credentials: Credentials,
    clock: Clock,
    random: Random | None,
    programs: Sequence[User],
) -> AsyncIterator[NetworkAccess]:
    """Serve a plane's API server over HTTPS while the context is open. programs: the users of
    controllers, whose rights only the plane's process knows.

    Raises CannotListen, NotStarted.
    """
    application = Application(server, Authenticator(serving.tokens))
    async with AsyncExitStack() as stack:
        pages = None
        if settings.pages is not None:
            pages = application.mounts["ui"] = fleet_pages(server, clock, settings.pages)
            await stack.enter_async_context(pages.running())
        processes = None
        try:
            if settings.api_processes:
                processes = await _start_processes(
                    stack, server, application, settings, serving, credentials, random, programs
                )
                host, port = processes.address
            else:
                own, authority = credentials.server, credentials.authority
                tls = server_context(own.certificate, own.key, client_ca=authority.certificate)
                host, port = await stack.enter_async_context(
                    listen(application, host=serving.host, port=serving.port, tls=tls)
                )
        except (OSError, OverflowError) as error:
            raise CannotListen(
                f"cannot listen on {serving.host}:{serving.port} ({_reason_of(error)}); choose "
                "another port with --port, or stop the program that uses it"
            ) from None
        yield NetworkAccess(_kubeconfig_of(credentials, host, port), pages, processes)


async def _start_processes(
    stack: AsyncExitStack,
    server: Server,
    application: Application,
    settings: Settings,
    serving: Serving,
    credentials: Credentials,
    random: Random | None,
    programs: Sequence[User],
) -> ApiProcesses:
    # Most planes have no processes beside theirs.
    from kapy.apps.api_processes.configuration import configurations_of
    from kapy.apps.api_processes.pool import api_processes

    names = [user.name for user in programs]
    configurations = configurations_of(server, settings, serving, credentials, names)
    processes = await stack.enter_async_context(
        api_processes(
            server,
            application,
            configurations,
            host=serving.host,
            port=serving.port,
            random=random or Random(),
        )
    )
    server.metric_sources.append(processes.with_metrics)
    return processes


def _reason_of(error: Exception) -> str:
    reason = str(error.strerror if isinstance(error, OSError) else error)
    return reason.rpartition(": ")[2]


def _kubeconfig_of(credentials: Credentials, host: str, port: int) -> Kubeconfig:
    url_host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)
    return Kubeconfig(
        server=f"https://{url_host}:{port}",
        certificate_authority=credentials.authority.certificate,
        client_certificate=credentials.administrator.certificate,
        client_key=credentials.administrator.key,
    )
