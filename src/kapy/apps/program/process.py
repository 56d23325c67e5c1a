"""Runs one program with its connection, leader election, controllers, webhooks and endpoints."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from kapy._aio.clock import Clock
from kapy._aio.services import Service, run_services
from kapy.apps.https.certificate import certificate_in
from kapy.apps.https.serving import Application, serve
from kapy.apps.process_tuning import tuned_process
from kapy.apps.program.diagnostics import Diagnostics
from kapy.apps.program.endpoints import (
    NO_ADDRESS,
    Endpoints,
    Message,
    Readiness,
    no_message,
    parse_address,
    serve_endpoints,
)
from kapy.apps.program.options import ProgramOptions
from kapy.apps.program.webhook_serving import Webhooks, serve_webhooks
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.in_cluster import SERVICE_ACCOUNT_FOLDER
from kapy.client.kubeconfig import Kubeconfig
from kapy.client.rate_limit import RateLimited
from kapy.client.server_version import OLDEST, MinimumVersion
from kapy.engine.idle_packing import pack_idle_objects
from kapy.engine.leadership import Fenced, LeaderElector
from kapy.engine.options import DEFAULT_OPTIONS, ManagerOptions
from kapy.engine.runtime import Runtime
from kapy.engine.shards import Shards
from kapy.kube import Key
from kapy.kube.http import Transport
from kapy.sdk.reviews import Reviews


def namespace_of_pod() -> str:
    """Return the Pod's namespace, "" outside of a Pod."""
    namespace = os.environ.get("POD_NAMESPACE", "")
    try:
        return namespace or (SERVICE_ACCOUNT_FOLDER / "namespace").read_text().strip()
    except OSError:
        return ""


AddControllers = Callable[[Runtime], Mapping[str, Service]]
"""Adds controllers; returns services to run beside them, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """The description of a program to run. name: the field manager of the program. lease: the name
    of its Lease.

    service, provider: select the webhook configurations of the program. webhooks: creates the
    webhook application, None for none. needed: the oldest supported Kubernetes version. options:
    the options of the program. manager_options: the options of its controllers.
    """

    name: str
    lease: str
    service: str
    provider: str
    access: Kubeconfig
    webhooks: Webhooks | None = None
    needed: MinimumVersion = OLDEST
    options: ProgramOptions = field(default_factory=ProgramOptions)
    manager_options: ManagerOptions = DEFAULT_OPTIONS


@asynccontextmanager
async def run_process(
    process: Process, add: AddControllers, clock: Clock
) -> AsyncIterator[Runtime]:
    """Run a program while the context is open. The context is entered when the caches start to
    fill; with leader election, another replica may be the leader.

    Raises NoAddress, InvalidFlag, KubeconfigError. LostLeadership ends the context.
    """
    options, random = process.options, Random()
    transport = ApiTransport(process.access)
    async with AsyncExitStack() as stack:
        stack.enter_context(tuned_process())
        stack.push_async_callback(transport.aclose)
        own = Client(transport, field_manager=process.name)
        turn = _leader_gate(process, stack, clock, random)
        # The leader check is the innermost wrapper, so that it is made when the request is sent.
        fenced = transport if turn is None else Fenced(transport, turn)
        paced = RateLimited(fenced, qps=options.qps, burst=options.burst)
        runtime = _runtime(process, paced, clock, random)
        if isinstance(turn, LeaderElector):
            runtime.leader_gate = turn.lead
            runtime.metrics.add(turn)
        elif turn is not None:
            runtime.leader_gate, runtime.shards = turn.run_as_member, turn
            runtime.metrics.add(turn)
        services, served = add(runtime), no_message
        if process.webhooks is not None:
            apart = _runtime(process, transport, clock, random)
            served = await _serve_webhooks(
                stack, process, process.webhooks(runtime, own), runtime, apart
            )
        ready = Readiness(
            runtime,
            served=served,
            pace=lambda: paced.problem,
            converts=process.webhooks is not None,
        )
        endpoints = Endpoints(lambda: ready.missing, lambda: ready.remarks)
        await stack.enter_async_context(serve_endpoints(endpoints, options.health))
        await _serve_diagnostics(stack, runtime, own, options)
        packing = partial(pack_idle_objects, *runtime.packing)
        await stack.enter_async_context(
            run_services(controllers=runtime.run, packing=packing, **services)
        )
        yield runtime


def _runtime(process: Process, transport: Transport, clock: Clock, random: Random) -> Runtime:
    return Runtime.on(
        transport,
        clock=clock,
        field_manager=process.name,
        random=random,
        options=process.manager_options,
        needed=process.needed,
    )


async def _serve_webhooks(
    stack: AsyncExitStack,
    process: Process,
    application: Application,
    runtime: Runtime,
    side_runtime: Runtime,
) -> Message:
    """Serve webhooks. Returns a function that returns why they cannot be called, "" if they can."""
    options = process.options
    service = Key(options.webhook_namespace or namespace_of_pod(), process.service)
    if isinstance(application, Reviews):
        runtime.metrics.add(application.metrics)
    return await stack.enter_async_context(
        serve_webhooks(
            application, options, service, process.provider, side_runtime, runtime.metrics
        )
    )


def _leader_gate(
    process: Process, stack: AsyncExitStack, clock: Clock, random: Random
) -> LeaderElector | Shards | None:
    """Return the leader election, or the shard membership; None for neither. Raises InvalidFlag.

    The leader election has connections of its own: if a request gets no response, the retry must
    not use another kept connection to the same lost server.
    """
    options = process.options
    terms = options.leader_election(
        _lease(process), f"{socket.gethostname()}_{random.getrandbits(64):x}"
    )
    if terms is None:
        return None
    transport = ApiTransport(process.access)
    stack.push_async_callback(transport.aclose)
    own = Client(transport, field_manager=process.name)
    if options.shards:
        return Shards(own, terms, options.shards, clock, random)
    return LeaderElector(own, terms, clock, random)


def _lease(process: Process) -> Key:
    """Return the namespace and name of the Lease. The default namespace is that of this Pod, or of
    the kubeconfig's context.
    """
    usual = namespace_of_pod() or process.access.namespace or "default"
    return Key(process.options.lease_namespace or usual, process.lease)


async def _serve_diagnostics(
    stack: AsyncExitStack, runtime: Runtime, own: Client, options: ProgramOptions
) -> None:
    if options.diagnostics == NO_ADDRESS:
        return
    if options.insecure_diagnostics:
        await stack.enter_async_context(
            serve_endpoints(Diagnostics(runtime, None), options.diagnostics)
        )
        return
    # Clients cannot verify it; upstream's managers have such a certificate, too.
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="kapy-diagnostics-")))
    names = ["localhost", socket.gethostname()]
    certificate = await certificate_in(folder, names, runtime.clock)
    options.restrict(certificate.context)
    host, port = parse_address(options.diagnostics)
    application = Diagnostics(runtime, own)
    served = serve(
        application, certificate, host=host, port=port, flags="--diagnostics-address (0 for none)"
    )
    await stack.enter_async_context(served)
