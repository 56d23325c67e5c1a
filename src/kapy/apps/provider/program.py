"""Runs a provider alone: one process for any Kubernetes API server.

It runs the same controllers as a management plane, like kapy's own managers. The kinds must be
installed (`kapy init` installs them). For development, the program can install them itself, with
webhooks that it serves on this machine.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kapy._aio.clock import Clock
from kapy._aio.services import Service
from kapy.apps.components.serving import service_of
from kapy.apps.https.certificate import certificate_in
from kapy.apps.https.serving import serve
from kapy.apps.migrated_kinds import add_provider_migration
from kapy.apps.program.options import ProgramOptions
from kapy.apps.program.process import Process, run_process
from kapy.apps.program.webhook_serving import FLAGS
from kapy.apps.provider.components import lease_of, prefix_of
from kapy.apps.provider.controllers import add_provider
from kapy.apps.provider.installing import (
    check_kinds,
    install_kinds,
    install_webhooks,
    remove_webhooks,
)
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.kubeconfig import Kubeconfig
from kapy.engine.crd_migration import Phase
from kapy.engine.options import DEFAULT_OPTIONS, ManagerOptions
from kapy.engine.runtime import Runtime
from kapy.sdk.admission_webhooks import Webhooks
from kapy.sdk.provider import Provider

_LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class StandaloneOptions:
    """The options of a provider that runs alone.

    access: the access to the API server. options: the options of the program. manager_options: the
    options of its controllers. skipped_migration_phases: the skipped phases of the migration of its
    objects. install: whether the kinds and webhooks are installed in the API server first.
    development_port: the port of these webhooks, 0 for any free port.
    """

    access: Kubeconfig
    options: ProgramOptions = field(default_factory=ProgramOptions)
    manager_options: ManagerOptions = DEFAULT_OPTIONS
    skipped_migration_phases: Collection[Phase] = ()
    install: bool = False
    development_port: int = 0


@asynccontextmanager
async def run_standalone(
    provider: Provider, standalone: StandaloneOptions, clock: Clock
) -> AsyncIterator[Runtime]:
    """Run a provider while the context is open. The context is entered when the caches start to
    fill.

    Raises MissingKinds, CannotAdd, NoAddress, InvalidFlag, Unreachable and errors of the API
    server.
    """
    process = process_of(provider, standalone)
    async with AsyncExitStack() as stack:
        transport = ApiTransport(standalone.access)
        stack.push_async_callback(transport.aclose)
        client = Client(transport, field_manager=process.name)
        if standalone.install:
            await install_kinds(client, provider)
            await _serve_development_webhooks(stack, client, provider, standalone, clock)
        await check_kinds(client, provider, standalone.access.server)
        add = partial(_add, provider, standalone)
        yield await stack.enter_async_context(run_process(process, add, clock))


def _add(
    provider: Provider, standalone: StandaloneOptions, runtime: Runtime
) -> Mapping[str, Service]:
    services = add_provider(provider, runtime)
    add_provider_migration(runtime, provider, standalone.skipped_migration_phases)
    return services


def process_of(provider: Provider, standalone: StandaloneOptions) -> Process:
    """Return the provider's program. It serves webhooks, unless development webhooks are
    installed.
    """
    has_webhooks = provider.admission.kinds and not standalone.install
    return Process(
        name=f"{provider.name}-provider",
        lease=lease_of(provider),
        service=service_of(prefix_of(provider)),
        provider=provider.label,
        access=standalone.access,
        webhooks=(lambda *_: Webhooks(provider.admission)) if has_webhooks else None,
        options=standalone.options,
        manager_options=standalone.manager_options,
    )


async def _serve_development_webhooks(
    stack: AsyncExitStack,
    client: Client,
    provider: Provider,
    standalone: StandaloneOptions,
    clock: Clock,
) -> None:
    """Serve webhooks on this machine and install their configurations while the program runs."""
    if not provider.admission.kinds or not standalone.options.webhook_port:
        return
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="kapy-webhooks-")))
    certificate = await certificate_in(folder, [_LOOPBACK], clock)
    standalone.options.restrict(certificate.context)
    application, port = Webhooks(provider.admission), standalone.development_port
    served = serve(application, certificate, host=_LOOPBACK, port=port, flags=FLAGS)
    _, port = await stack.enter_async_context(served)
    authority = b64encode(certificate.ca).decode()
    stack.push_async_callback(remove_webhooks, client, provider)
    await install_webhooks(client, provider, f"https://{_LOOPBACK}:{port}", authority)
