"""A provider alone: one process against any Kubernetes.

The same controllers run as in a management plane's process. The kinds have to be there (`kapy init`
puts them there), or the program installs them, with webhooks that the server finds at this machine:
that is for development, where no pod is to be built.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kapy._aio.clock import Clock
from kapy._aio.services import running
from kapy.apps.components.serving import PORT
from kapy.apps.https.certificate import certificate_in
from kapy.apps.https.serving import NoAddress, serving
from kapy.apps.program.endpoints import Endpoints, told_at
from kapy.apps.program.running import missing
from kapy.apps.provider.adding import added
from kapy.apps.provider.components import HEALTH_PORT
from kapy.apps.provider.installing import (
    check_kinds,
    install_kinds,
    install_webhooks,
    remove_webhooks,
)
from kapy.apps.provider.webhooks import SERVING
from kapy.client.client import Client
from kapy.client.https import Https
from kapy.client.kubeconfig import Kubeconfig
from kapy.engine.options import DEFAULT_OPTIONS, ManagerOptions
from kapy.engine.runtime import Runtime
from kapy.kube.errors import KapyError
from kapy.sdk.admission_webhooks import Webhooks
from kapy.sdk.provider import Provider

_LOOPBACK: Final = "127.0.0.1"


class NoWebhooks(KapyError):
    """The webhooks cannot be served; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Alone:
    """How a provider runs alone.

    access: the server. install: put kinds and webhooks into it. health, diagnostics: addresses of
    the endpoints, "0" for none. webhook_port: 0 for no webhooks, None for the usual one, and any
    that is free where they are put into the server. certificates: their folder.
    """

    access: Kubeconfig
    options: ManagerOptions = DEFAULT_OPTIONS
    install: bool = False
    health: str = f":{HEALTH_PORT}"
    diagnostics: str = "localhost:8080"
    webhook_port: int | None = None
    certificates: Path = field(default=Path(SERVING))


@asynccontextmanager
async def alone(provider: Provider, told: Alone, clock: Clock) -> AsyncIterator[Runtime]:
    """Run while the context is open; its controllers work when it is entered.

    Raises MissingKinds, NoAddress, NoWebhooks, Unreachable and what the server refuses.
    """
    transport = Https(told.access)
    name = f"{provider.name}-provider"
    async with AsyncExitStack() as stack:
        stack.push_async_callback(transport.aclose)
        client = Client(transport, field_manager=name)
        if told.install:
            await install_kinds(client, provider)
        await check_kinds(client, provider, told.access.server)
        runtime = Runtime.on(transport, clock=clock, field_manager=name, options=told.options)
        services = added(provider, runtime)
        endpoints = Endpoints(runtime, lambda: missing(runtime))
        await stack.enter_async_context(told_at(endpoints, told.health, told.diagnostics))
        await _serve_webhooks(stack, client, provider, told, clock)
        await stack.enter_async_context(running(controllers=runtime.run, **services))
        await runtime.working.wait()
        yield runtime


async def _serve_webhooks(
    stack: AsyncExitStack, client: Client, provider: Provider, told: Alone, clock: Clock
) -> None:
    if not provider.admission.kinds or told.webhook_port == 0:
        return
    folder, host, names = told.certificates, "0.0.0.0", [_LOOPBACK]
    if told.install:
        folder, host = Path(stack.enter_context(TemporaryDirectory())), _LOOPBACK
    elif not (folder / "tls.crt").exists():
        raise NoWebhooks(
            f"there is no certificate for webhooks in {folder}: name its folder with "
            "--webhook-cert-dir, or start with --install, which makes one for this machine"
        )
    certificate = await certificate_in(folder, names, clock)
    application = Webhooks(provider.admission)
    port = told.webhook_port or (0 if told.install else PORT)
    try:
        _, port = await stack.enter_async_context(
            serving(application, certificate, host=host, port=port)
        )
    except NoAddress as error:
        why = str(error).partition(";")[0]
        raise NoWebhooks(f"{why}; choose another port with --webhook-port") from None
    if told.install:
        authority = b64encode(certificate.ca).decode()
        await install_webhooks(client, provider, f"https://{_LOOPBACK}:{port}", authority)
        stack.push_async_callback(remove_webhooks, client, provider)
