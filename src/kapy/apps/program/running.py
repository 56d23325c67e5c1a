"""One manager, running: connection, leader election, controllers, endpoints."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from kapy._aio.clock import Clock
from kapy._aio.services import Service, running
from kapy.apps.admission import Rules
from kapy.apps.https.certificate import Certificate, certificate_in
from kapy.apps.https.serving import serving
from kapy.apps.https.shared import SharedCertificate
from kapy.apps.manager.webhooks import Webhooks
from kapy.apps.manager_flags import BadFlag
from kapy.apps.program.diagnostics import Diagnostics
from kapy.apps.program.endpoints import Endpoints, address_of, told_at
from kapy.apps.program.injection import Injection
from kapy.apps.program.options import Managing
from kapy.client.client import Client
from kapy.client.https import Https
from kapy.client.in_cluster import MOUNTED
from kapy.client.kubeconfig import Kubeconfig
from kapy.engine.leadership import Fenced, Leadership
from kapy.engine.options import DEFAULT_OPTIONS, ManagerOptions
from kapy.engine.runtime import Runtime
from kapy.engine.shards import Shards
from kapy.kube import Key
from kapy.kube.errors import Forbidden, NotFound
from kapy.kube.names import CRDS, Resource

NO_ADDRESS: Final = "0"

Adding = Callable[[Runtime], Mapping[str, Service]]
"""Adds controllers; what is to be run beside them, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """A manager: name (its field manager), lease (its name), and what it runs, where.

    service, provider: of its webhooks, and of what they are told in. gates: of what they check.
    """

    name: str
    lease: str
    service: str
    provider: str
    access: Kubeconfig
    told: Managing = field(default_factory=Managing)
    options: ManagerOptions = DEFAULT_OPTIONS


@asynccontextmanager
async def managed(manager: Manager, add: Adding, clock: Clock) -> AsyncIterator[Runtime]:
    """Run while the context is open. It is entered when caches begin to fill: with leader election
    it may be another one's turn to work.

    Raises NoAddress, BadFlag, KubeconfigError. LostLeadership ends the context.
    """
    told, random = manager.told, Random()
    transport = Https(manager.access)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(transport.aclose)
        own = Client(transport, field_manager=manager.name)
        turn = _turn(manager, own, clock, random)
        runtime = Runtime.on(
            transport if turn is None else Fenced(transport, turn),
            clock=clock,
            field_manager=manager.name,
            random=random,
            options=manager.options,
        )
        if isinstance(turn, Leadership):
            runtime.turn = turn.lead
        elif turn is not None:
            runtime.turn, runtime.shards = turn.take_part, turn
        services = add(runtime)
        await _serve_webhooks(stack, manager, runtime, own, clock)
        endpoints = Endpoints(runtime, lambda: missing(runtime))
        await stack.enter_async_context(told_at(endpoints, told.health))
        await _diagnose(stack, Diagnostics(runtime, _judge(told, own)), told, clock)
        await stack.enter_async_context(running(controllers=runtime.run, **services))
        yield runtime


def _turn(
    manager: Manager, own: Client, clock: Clock, random: Random
) -> Leadership | Shards | None:
    """Who says when this manager works, and on what. Raises BadFlag."""
    told = manager.told
    terms = told.terms(_lease(manager), f"{socket.gethostname()}_{random.getrandbits(64):x}")
    if terms is None:
        return None
    if told.shards:
        return Shards(own, terms, told.shards, clock, random)
    return Leadership(own, terms, clock, random)


def missing(runtime: Runtime) -> str:
    """What a manager waits for before it can work, "" for nothing."""
    waiting = sorted(one.group_resource for one in runtime.cache.unsynced())
    if not waiting:
        return ""
    why = {one.group_resource: _told(one, error) for one, error in runtime.cache.failures()}
    return "; ".join(
        [f"not read yet: {', '.join(waiting)}", *(why[one] for one in waiting if one in why)]
    )


def _told(resource: Resource, error: Exception) -> str:
    """Why a resource cannot be read, and what to do about it."""
    if isinstance(error, NotFound):
        return (
            f"there is no CRD {resource.group_resource} with version {resource.version}: install "
            "the provider that has it with `kapy init`, or `kapy crds | kubectl apply -f -`"
        )
    if isinstance(error, Forbidden):
        return (
            f"{error}: this manager's ClusterRole needs get, list and watch of "
            f"{resource.plural} in the API group {resource.group!r}"
        )
    return f"{resource.group_resource}: {error}"


def _judge(told: Managing, client: Client) -> Client | None:
    return None if told.insecure_diagnostics else client


async def _serve_webhooks(
    stack: AsyncExitStack, manager: Manager, runtime: Runtime, own: Client, clock: Clock
) -> None:
    """With the certificate that is there; in a pod without one, with that of an authority that all
    replicas share. Elsewhere no API server would find them."""
    certificate = await _certificate(manager, runtime, own, clock)
    if certificate is None or not manager.told.webhook_port:
        return
    rules = Rules(manager.options.gates)
    rules.read_through(own)
    definitions = runtime.cache.informer(CRDS)
    application = Webhooks(rules, lambda name: definitions.raw(Key("", name)))
    _restrict(certificate, manager.told)
    port = manager.told.webhook_port
    await stack.enter_async_context(serving(application, certificate, host="0.0.0.0", port=port))


async def _certificate(
    manager: Manager, runtime: Runtime, own: Client, clock: Clock
) -> Certificate | None:
    folder = manager.told.certificates
    if (folder / "tls.crt").exists():
        return await certificate_in(folder, (), clock)
    namespace = manager.told.webhook_namespace or _namespace_of_pod()
    if not namespace:
        return None
    service = Key(namespace, manager.service)
    host = f"{service.name}.{service.namespace}.svc"
    injection: Injection
    shared = SharedCertificate(
        own,
        Key(namespace, f"{manager.service}-cert"),
        [host, f"{host}.cluster.local"],
        clock,
        runtime.random,
        told=lambda: injection.look_again(),
    )
    injection = Injection(runtime, service, manager.provider, lambda: shared.ca)
    await shared.make_valid()
    return shared


async def _diagnose(
    stack: AsyncExitStack, application: Diagnostics, told: Managing, clock: Clock
) -> None:
    if told.diagnostics == NO_ADDRESS:
        return
    if told.insecure_diagnostics:
        await stack.enter_async_context(told_at(application, told.diagnostics))
        return
    # Nobody can verify it, as nobody can verify that of upstream's managers.
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="kapy-diagnostics-")))
    certificate = await certificate_in(folder, ["localhost", socket.gethostname()], clock)
    _restrict(certificate, told)
    host, port = address_of(told.diagnostics)
    await stack.enter_async_context(serving(application, certificate, host=host, port=port))


def _restrict(certificate: Certificate, told: Managing) -> None:
    """Speak TLS as asked for. Raises BadFlag."""
    certificate.context.minimum_version = told.tls_version
    if told.cipher_suites:
        try:
            certificate.context.set_ciphers(":".join(told.cipher_suites))
        except ssl.SSLError:
            suites = ", ".join(told.cipher_suites)
            raise BadFlag(f"--tls-cipher-suites: none of {suites} is known here") from None


def _lease(manager: Manager) -> Key:
    """The Lease: in this pod's namespace, or in that of the kubeconfig's context."""
    usual = _namespace_of_pod() or manager.access.namespace or "default"
    return Key(manager.told.lease_namespace or usual, manager.lease)


def _namespace_of_pod() -> str:
    """The namespace of the pod that this process runs in, "" where it runs in none."""
    told = os.environ.get("POD_NAMESPACE", "")
    try:
        return told or (MOUNTED / "namespace").read_text().strip()
    except OSError:
        return ""
