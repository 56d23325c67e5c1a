"""A provider alone: one process against any Kubernetes.

The same controllers run as in a management plane's process, as kapy's own managers are run. The
kinds have to be there (`kapy init` puts them there), or the program installs them, with webhooks
that the server finds at this machine: that is for development, where no pod is to be built.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kapy._aio.clock import Clock
from kapy.apps.components.serving import service_of
from kapy.apps.https.certificate import certificate_in
from kapy.apps.https.serving import serving
from kapy.apps.program.options import ProgramOptions
from kapy.apps.program.running import Process, started
from kapy.apps.program.webhooks import FLAGS
from kapy.apps.provider.adding import added
from kapy.apps.provider.components import lease_of, prefix_of
from kapy.apps.provider.installing import (
    check_kinds,
    install_kinds,
    install_webhooks,
    remove_webhooks,
)
from kapy.client.client import Client
from kapy.client.https import Https
from kapy.client.kubeconfig import Kubeconfig
from kapy.engine.options import DEFAULT_OPTIONS, ManagerOptions
from kapy.engine.runtime import Runtime
from kapy.sdk.admission_webhooks import Webhooks
from kapy.sdk.provider import Provider

_LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """How a provider runs alone.

    access: the server. told: how it runs; options: what its controllers look at. install: put kinds
    and webhooks into the server; development_port: of these webhooks, 0 for any that is free.
    """

    access: Kubeconfig
    told: ProgramOptions = field(default_factory=ProgramOptions)
    options: ManagerOptions = DEFAULT_OPTIONS
    install: bool = False
    development_port: int = 0


@asynccontextmanager
async def alone(provider: Provider, how: Alone, clock: Clock) -> AsyncIterator[Runtime]:
    """Run while the context is open. It is entered when caches begin to fill.

    Raises MissingKinds, CannotAdd, NoAddress, BadFlag, Unreachable and what the server refuses.
    """
    process = process_of(provider, how)
    async with AsyncExitStack() as stack:
        transport = Https(how.access)
        stack.push_async_callback(transport.aclose)
        client = Client(transport, field_manager=process.name)
        if how.install:
            await install_kinds(client, provider)
            await _develop(stack, client, provider, how, clock)
        await check_kinds(client, provider, how.access.server)
        yield await stack.enter_async_context(started(process, partial(added, provider), clock))


def process_of(provider: Provider, how: Alone) -> Process:
    """A provider's program. Its webhooks are served here, unless they are put into the server."""
    has_webhooks = provider.admission.kinds and not how.install
    return Process(
        name=f"{provider.name}-provider",
        lease=lease_of(provider),
        service=service_of(prefix_of(provider)),
        provider=provider.label,
        access=how.access,
        webhooks=(lambda *_: Webhooks(provider.admission)) if has_webhooks else None,
        told=how.told,
        options=how.options,
    )


async def _develop(
    stack: AsyncExitStack, client: Client, provider: Provider, how: Alone, clock: Clock
) -> None:
    """Webhooks that the server finds at this machine, as long as the program runs."""
    if not provider.admission.kinds or not how.told.webhook_port:
        return
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="kapy-webhooks-")))
    certificate = await certificate_in(folder, [_LOOPBACK], clock)
    how.told.restrict(certificate.context)
    application, port = Webhooks(provider.admission), how.development_port
    served = serving(application, certificate, host=_LOOPBACK, port=port, flags=FLAGS)
    _, port = await stack.enter_async_context(served)
    authority = b64encode(certificate.ca).decode()
    stack.push_async_callback(remove_webhooks, client, provider)
    await install_webhooks(client, provider, f"https://{_LOOPBACK}:{port}", authority)
