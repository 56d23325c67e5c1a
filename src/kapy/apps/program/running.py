"""One program, running: connection, leader election, controllers, webhooks, endpoints."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from kapy._aio.clock import Clock
from kapy._aio.services import Service, running
from kapy.apps.garbage import rarely_collected
from kapy.apps.https.certificate import certificate_in
from kapy.apps.https.serving import Application, serving
from kapy.apps.program.diagnostics import Diagnostics
from kapy.apps.program.endpoints import NO_ADDRESS, Endpoints, address_of, told_at
from kapy.apps.program.options import ProgramOptions
from kapy.apps.program.pod import namespace_of_pod
from kapy.apps.program.readiness import Readiness, Sentence, nothing
from kapy.apps.program.webhooks import Webhooks, webhooks_served
from kapy.client.client import Client
from kapy.client.https import Https
from kapy.client.kubeconfig import Kubeconfig
from kapy.client.pacing import Paced
from kapy.client.server_version import OLDEST, Needed
from kapy.engine.leadership import Fenced, LeaderElector
from kapy.engine.options import DEFAULT_OPTIONS, ManagerOptions
from kapy.engine.runtime import Runtime
from kapy.engine.shards import Shards
from kapy.kube import Key
from kapy.kube.http import Transport
from kapy.sdk.reviews import Reviews

Adding = Callable[[Runtime], Mapping[str, Service]]
"""Adds controllers; what is to be run beside them, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A program that is to run: name (its field manager), lease (its name), and where.

    service, provider: of its webhooks, and of what they are told in. webhooks: what answers them,
    None where there are none. needed: the oldest version of Kubernetes that it works with. told:
    how it runs; options: what its controllers look at.
    """

    name: str
    lease: str
    service: str
    provider: str
    access: Kubeconfig
    webhooks: Webhooks | None = None
    needed: Needed = OLDEST
    told: ProgramOptions = field(default_factory=ProgramOptions)
    options: ManagerOptions = DEFAULT_OPTIONS


@asynccontextmanager
async def started(process: Process, add: Adding, clock: Clock) -> AsyncIterator[Runtime]:
    """Run while the context is open. It is entered when caches begin to fill: with leader election
    it may be another one's turn to work.

    Raises NoAddress, BadFlag, KubeconfigError. LostLeadership ends the context.
    """
    told, random = process.told, Random()
    transport = Https(process.access)
    async with AsyncExitStack() as stack:
        stack.enter_context(rarely_collected())
        stack.push_async_callback(transport.aclose)
        own = Client(transport, field_manager=process.name)
        turn = _turn(process, own, clock, random)
        # Whether it leads is looked at last, when its turn to ask has come.
        fenced = transport if turn is None else Fenced(transport, turn)
        paced = Paced(fenced, qps=told.qps, burst=told.burst)
        runtime = _runtime(process, paced, clock, random)
        if isinstance(turn, LeaderElector):
            runtime.leader_gate = turn.lead
        elif turn is not None:
            runtime.leader_gate, runtime.shards = turn.run_as_member, turn
            runtime.metrics.add(turn)
        services, served = add(runtime), nothing
        if process.webhooks is not None:
            apart = _runtime(process, transport, clock, random)
            served = await _answer(stack, process, process.webhooks(runtime, own), runtime, apart)
        ready = Readiness(
            runtime,
            served=served,
            pace=lambda: paced.matter,
            converts=process.webhooks is not None,
        )
        endpoints = Endpoints(lambda: ready.missing, lambda: ready.remarks)
        await stack.enter_async_context(told_at(endpoints, told.health))
        await _diagnose(stack, runtime, own, told)
        await stack.enter_async_context(running(controllers=runtime.run, **services))
        yield runtime


def _runtime(process: Process, transport: Transport, clock: Clock, random: Random) -> Runtime:
    return Runtime.on(
        transport,
        clock=clock,
        field_manager=process.name,
        random=random,
        options=process.options,
        needed=process.needed,
    )


async def _answer(
    stack: AsyncExitStack,
    process: Process,
    application: Application,
    runtime: Runtime,
    apart: Runtime,
) -> Sentence:
    """Serve webhooks; what is returned says what is missing for that, "" for nothing."""
    told = process.told
    service = Key(told.webhook_namespace or namespace_of_pod(), process.service)
    if isinstance(application, Reviews):
        runtime.metrics.add(application.metrics)
    return await stack.enter_async_context(
        webhooks_served(application, told, service, process.provider, apart, runtime.metrics)
    )


def _turn(
    process: Process, own: Client, clock: Clock, random: Random
) -> LeaderElector | Shards | None:
    """Who says when this program works, and on what. Raises BadFlag."""
    told = process.told
    terms = told.terms(_lease(process), f"{socket.gethostname()}_{random.getrandbits(64):x}")
    if terms is None:
        return None
    if told.shards:
        return Shards(own, terms, told.shards, clock, random)
    return LeaderElector(own, terms, clock, random)


def _lease(process: Process) -> Key:
    """The Lease: in this pod's namespace, or in that of the kubeconfig's context."""
    usual = namespace_of_pod() or process.access.namespace or "default"
    return Key(process.told.lease_namespace or usual, process.lease)


async def _diagnose(
    stack: AsyncExitStack, runtime: Runtime, own: Client, told: ProgramOptions
) -> None:
    if told.diagnostics == NO_ADDRESS:
        return
    if told.insecure_diagnostics:
        await stack.enter_async_context(told_at(Diagnostics(runtime, None), told.diagnostics))
        return
    # Nobody can verify it, as nobody can verify that of upstream's managers.
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="kapy-diagnostics-")))
    names = ["localhost", socket.gethostname()]
    certificate = await certificate_in(folder, names, runtime.clock)
    told.restrict(certificate.context)
    host, port = address_of(told.diagnostics)
    application = Diagnostics(runtime, own)
    served = serving(
        application, certificate, host=host, port=port, flags="--diagnostics-address (0 for none)"
    )
    await stack.enter_async_context(served)
