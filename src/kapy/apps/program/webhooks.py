"""A program's webhooks, served with a certificate that API servers trust."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from kapy._aio.services import running
from kapy.apps.components.serving import certificate_of
from kapy.apps.https.certificate import certificate_in
from kapy.apps.https.serving import Application, serving
from kapy.apps.https.shared import SharedCertificate
from kapy.apps.program.injection import Injection
from kapy.apps.program.options import ProgramOptions
from kapy.apps.program.readiness import Sentence, nothing
from kapy.client.client import Client
from kapy.engine.metrics import Metrics
from kapy.engine.runtime import Runtime
from kapy.kube import Key

FLAGS: Final = "--webhook-port (0 for none)"
Webhooks = Callable[[Runtime, Client], Application]
"""Makes what answers. The runtime has the caches of the program; the client asks the server."""


@asynccontextmanager
async def webhooks_served(
    application: Application,
    told: ProgramOptions,
    service: Key,
    provider: str,
    apart: Runtime,
    metrics: Metrics,
) -> AsyncIterator[Sentence]:
    """Serve with the certificate that is there; in a pod without one, with that of an authority
    that all replicas share. Elsewhere no API server would find them.

    Yields who says what is missing before somebody can call them, "" for nothing.

    service: by which API servers find them. apart: runs who tells API servers whom to trust; it is
    not the program's own, which may wait for what is read through these webhooks. metrics: of the
    program; how often the certificate was read is told there.
    """
    folder, port = told.certificates, told.webhook_port
    if not port or not (service.namespace or told.has_certificate):
        yield nothing
        return
    if told.has_certificate:
        certificate = await certificate_in(folder, (), apart.clock)
        metrics.add(certificate.reads)
        told.restrict(certificate.context)
        async with serving(application, certificate, host="0.0.0.0", port=port, flags=FLAGS):
            yield lambda: certificate.missing
        return
    shared = _shared(service, provider, apart)
    metrics.add(shared.reads)
    told.restrict(shared.context)
    async with (
        serving(application, shared, host="0.0.0.0", port=port, flags=FLAGS),
        running(injection=apart.run),
    ):
        yield lambda: _away(apart) or shared.missing


def _away(runtime: Runtime) -> str:
    return "" if runtime.availability is None else runtime.availability.unavailable_reason


def _shared(service: Key, provider: str, apart: Runtime) -> SharedCertificate:
    injection: Injection
    host = f"{service.name}.{service.namespace}.svc"
    shared = SharedCertificate(
        apart.client,
        Key(service.namespace, certificate_of(service.name)),
        [host, f"{host}.cluster.local"],
        apart.clock,
        apart.random,
        told=lambda: injection.look_again(),
    )
    injection = Injection(apart, service, provider, lambda: shared.ca)
    return shared
