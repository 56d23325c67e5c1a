"""Serves a program's webhooks with a certificate that API servers trust."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from kapy._aio.services import run_services
from kapy.apps.components.serving import certificate_of
from kapy.apps.https.certificate import certificate_in
from kapy.apps.https.serving import Application, serve
from kapy.apps.https.shared_certificate import SharedCertificate
from kapy.apps.program.ca_injection import CAInjector
from kapy.apps.program.endpoints import Message, no_message
from kapy.apps.program.options import ProgramOptions
from kapy.client.client import Client
from kapy.engine.metrics import Metrics
from kapy.engine.runtime import Runtime
from kapy.kube import Key

FLAGS: Final = "--webhook-port (0 for none)"
Webhooks = Callable[[Runtime, Client], Application]
"""Creates the webhook application. The runtime has the program's caches; the client sends requests
to the API server."""


@asynccontextmanager
async def serve_webhooks(
    application: Application,
    options: ProgramOptions,
    service: Key,
    provider: str,
    side_runtime: Runtime,
    metrics: Metrics,
) -> AsyncIterator[Message]:
    """Serve webhooks while the context is open. The certificate is an existing one; in a Pod
    without one, a CA that all replicas share issues it. Outside of a cluster nothing is served,
    because no API server could connect.

    Yields a function that returns why the webhooks cannot be called, "" if they can.

    service: the Service to which API servers connect. side_runtime: runs the CA injection; it is
    not the program's own runtime, which may wait for objects that these webhooks convert. metrics:
    the metrics of the program, which get a counter of certificate reads.
    """
    folder, port = options.certificates, options.webhook_port
    if not port or not (service.namespace or options.has_certificate):
        yield no_message
        return
    if options.has_certificate:
        certificate = await certificate_in(folder, (), side_runtime.clock)
        metrics.add(certificate.reads)
        options.restrict(certificate.context)
        async with serve(application, certificate, host="0.0.0.0", port=port, flags=FLAGS):
            yield lambda: certificate.missing
        return
    shared = _shared_certificate(service, provider, side_runtime)
    metrics.add(shared.reads)
    options.restrict(shared.context)
    async with (
        serve(application, shared, host="0.0.0.0", port=port, flags=FLAGS),
        run_services(injection=side_runtime.run),
    ):
        yield lambda: _unavailable_server(side_runtime) or shared.missing


def _unavailable_server(runtime: Runtime) -> str:
    return "" if runtime.availability is None else runtime.availability.unavailable_reason


def _shared_certificate(service: Key, provider: str, side_runtime: Runtime) -> SharedCertificate:
    injection: CAInjector
    host = f"{service.name}.{service.namespace}.svc"
    shared = SharedCertificate(
        side_runtime.client,
        Key(service.namespace, certificate_of(service.name)),
        [host, f"{host}.cluster.local"],
        side_runtime.clock,
        side_runtime.random,
        on_change=lambda: injection.on_ca_change(),
    )
    injection = CAInjector(side_runtime, service, provider, shared)
    return shared
