"""A management plane in one process: API server, controllers and in-memory provider.

    async with management_plane(Settings(), clock=loop_clock()) as plane:
        await plane.client.create(...)

The same function serves `kapy up`, `kapy quickstart`, the stories on virtual time (no sockets) and
the benchmarks. The controllers reach the API server, and the workload clusters of the in-memory
provider, in process.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

from kapy._aio.clock import Clock, system_clock
from kapy._aio.services import Service, run_services
from kapy.apiserver.controllers.event_expiry import EventExpiry
from kapy.apiserver.server import Server
from kapy.apiserver.server.kube_controller_manager import add_kube_controllers
from kapy.apiserver.store.mark import check_presence, read_mark
from kapy.apiserver.webhooks.client_config import ServiceResolver
from kapy.apps.admission import AdmissionRules
from kapy.apps.audit import write_audit_log
from kapy.apps.built_in import ManagerPod, add_statuses, install_inventory, install_pod
from kapy.apps.clock_watch import ClockWatch, steady_clock
from kapy.apps.controller_rights import limit_rights
from kapy.apps.controllers import Controllers, add_controllers
from kapy.apps.conversion import convert_documents, first_supported
from kapy.apps.credentials import Credentials, issue_credentials
from kapy.apps.definitions import install_definitions
from kapy.apps.network_serving import NetworkAccess, serve_network
from kapy.apps.process_tuning import tuned_process
from kapy.apps.service_addresses import ServiceAddresses
from kapy.apps.settings import Settings
from kapy.apps.start_waits import wait_until_working, wait_with_limit
from kapy.apps.workers.launching import Launch, launch_process
from kapy.apps.workers.plane import PlaneProcesses
from kapy.client.client import Client
from kapy.client.kubeconfig import Kubeconfig
from kapy.engine.idle_packing import pack_idle_objects
from kapy.engine.private_keys import SPARE_KEYS
from kapy.engine.runtime import Runtime
from kapy.kube.http import ADMIN, Reply, Request, Transport, User
from kapy.remote.cluster_cache import ClusterCache

if TYPE_CHECKING:
    from kapy.apiserver.admission.plugin import Admission
    from kapy.apiserver.resources.version_converter import Convert
    from kapy.apps.api_processes.pool import ApiProcesses
    from kapy.hooks.call_stream import ObservableTransport
    from kapy.hooks.transport import HookTransport
    from kapy.sdk.provider import Provider
    from kapy.ui.application import FleetPages

CONTROLLERS: Final = User(
    "system:serviceaccount:kapy-system:kapy",
    ("system:serviceaccounts", "system:serviceaccounts:kapy-system", "system:authenticated"),
)
"""The user name of controllers at the API server; `controller_rights` limits their rights."""


@dataclass(frozen=True, slots=True)
class ManagementPlane:
    """A running management plane.

    client: acts as the administrator, in process. kubeconfig: the access for other programs, None
    if the plane serves no network. clock_watch: reports jumps of the clock. pages: the fleet page,
    None if it is not served. processes: the processes that divide the clusters among them.
    api_processes: the processes that serve the API server, None if this process serves it.
    """

    server: Server
    runtime: Runtime
    cluster_cache: ClusterCache
    client: Client
    processes: PlaneProcesses
    kubeconfig: Kubeconfig | None = None
    clock_watch: ClockWatch | None = None
    pages: FleetPages | None = None
    api_processes: ApiProcesses | None = None

    @property
    def transport(self) -> Transport:
        """The API server, with the administrator's identity."""
        return self.client.transport


@asynccontextmanager
async def management_plane(
    settings: Settings,
    *,
    clock: Clock,
    random: Random | None = None,
    post: HookTransport | None = None,
    launch: Launch = launch_process,
) -> AsyncIterator[ManagementPlane]:
    """Run a plane while the context is open; it is ready when the context is entered.

    post: connects to runtime extensions, None for HTTPS. launch: starts the plane's other
    processes.

    If a component fails, the body is cancelled and the failure raised. Raises StoreError,
    UnusableCredentials, BadPolicy, CannotWrite, CannotListen, BadProvider, CannotAdd and
    NotStarted, each with a message for users.
    """
    _check_data(settings)
    places = ServiceAddresses(settings.webhook_services)
    way = _transport_factory(settings, post, places)
    rules = AdmissionRules(settings.controllers.manager.gates, way)
    server = Server.open(
        settings.data,
        clock=clock,
        admission=(rules, *_admission(settings.providers)),
        convert=_conversion(settings.providers),
        synchronous="FULL" if settings.durability == "power-loss" else "NORMAL",
        limits=settings.limits,
        accept_loss=settings.accept_data_loss,
        services=settings.webhook_services,
    )
    places.lookup = ServiceResolver(server.store)
    rules.enable_reads(Client(server.transport(ADMIN)))
    try:
        credentials = await _credentials(server, settings, clock)
        async with AsyncExitStack() as stack:
            stack.enter_context(write_audit_log(server, settings.audit, clock))
            if settings.serving is not None:  # the plane is the main task of the process
                stack.enter_context(tuned_process())
            yield await _start(stack, server, settings, clock, random, way, credentials, launch)
    finally:
        server.close()


async def _start(
    stack: AsyncExitStack,
    server: Server,
    settings: Settings,
    clock: Clock,
    random: Random | None,
    post: Callable[[], HookTransport],
    credentials: Credentials | None,
    launch: Launch,
) -> ManagementPlane:
    client = Client(server.transport(ADMIN), field_manager="kapy")
    await stack.enter_async_context(run_services(server=server.run))
    await _install(client, settings)
    runtime = _build_runtime(server, settings, clock, random)
    processes = await PlaneProcesses.divide(
        client, server.transport(CONTROLLERS), runtime, settings, launch
    )
    controllers = add_controllers(
        runtime,
        settings.controllers,
        sockets=settings.serving is not None,
        post=post,
        providers=settings.providers,
        shards=processes.shards,
    )
    own = _add_controllers_and_providers(runtime, settings.providers)
    limit_rights(server, CONTROLLERS, settings, runtime)
    if controllers.calls is not None:
        _serve_calls(server, controllers.calls)
    if settings.inventory:
        add_statuses(runtime)
        await _add_pod(client, server, settings, controllers, clock())
    network = access = None
    if (serving := settings.serving) is not None and credentials is not None:
        programs = (CONTROLLERS,)
        network = await stack.enter_async_context(
            serve_network(server, settings, serving, credentials, clock, random, programs)
        )
        access = network.kubeconfig
    add_kube_controllers(
        server, authority="" if access is None else access.certificate_authority.decode()
    )
    pods = await _pod_services(stack, server, settings, access, credentials, clock)
    watch = ClockWatch(clock, steady_clock if clock is system_clock else None)
    services = {
        "runtime": runtime.run,
        "events": EventExpiry(server.context).run,
        **own,
        **controllers.services,
        **pods,
        **processes.services(server, controllers),
    }
    if settings.serving is not None:
        services["clock"] = watch.run
        services["packing"] = partial(pack_idle_objects, server.store.pack_idle, *runtime.packing)
    watch.callbacks.append(partial(_record_clock_jump, server, runtime))
    watch.compare(server.store.last_written)
    await stack.enter_async_context(run_services(**services))
    await wait_until_working(runtime)
    # Its end comes first, so that no client is sent here any more.
    stack.callback(server.health.begin_shutdown)
    plane = ManagementPlane(server, runtime, controllers.cluster_cache, client, processes)
    return _with_network(replace(plane, clock_watch=watch), network)


def _with_network(plane: ManagementPlane, network: NetworkAccess | None) -> ManagementPlane:
    if network is None:
        return plane
    return replace(
        plane,
        kubeconfig=network.kubeconfig,
        pages=network.pages,
        api_processes=network.api_processes,
    )


async def _add_pod(
    client: Client, server: Server, settings: Settings, controllers: Controllers, now: datetime
) -> None:
    """Create the Pod of the in-memory clusters' manager, and answer its kubelet's requests."""
    if "infrastructure-dev" not in settings.controllers.disabled_managers:
        server.kubelet_requests = ManagerPod(controllers.in_memory)
        await install_pod(client, now)


async def _install(client: Client, settings: Settings) -> None:
    """Create the definitions, the inventory and the certificates that the plane needs."""
    # The server creates its namespaces in its first step.
    await asyncio.sleep(0)
    async with wait_with_limit("the API server to take in the kinds of Cluster API"):
        await install_definitions(client)
    await _install_kinds(client, settings.providers)
    if settings.inventory:
        await install_inventory(client, settings.controllers.disabled_managers)
    if settings.pods is not None:
        await _install_certificates(client)


def _build_runtime(
    server: Server, settings: Settings, clock: Clock, random: Random | None
) -> Runtime:
    """Build the runtime of the controllers; `server` reports its metrics and its health."""
    runtime = Runtime.on(
        server.transport(CONTROLLERS),
        clock=clock,
        random=random,
        options=settings.controllers.manager,
    )
    if settings.serving is not None:  # a user may create a cluster at any moment
        runtime.private_keys.spare = SPARE_KEYS
    _serve_metrics(server, runtime)
    _add_health_checks(server, runtime)
    return runtime


async def _pod_services(
    stack: AsyncExitStack,
    server: Server,
    settings: Settings,
    access: Kubeconfig | None,
    credentials: Credentials | None,
    clock: Clock,
) -> dict[str, Service]:
    if settings.pods is None or settings.serving is None or access is None or credentials is None:
        return {}
    # Only planes that run for long have Pods, and certificates for them.
    from kapy.apps.container_listener import ContainerListener
    from kapy.apps.pods import certificate_runtime, pod_services

    listener = ContainerListener(server, settings.serving, credentials, clock)
    # It ends after the containers that use it.
    await stack.enter_async_context(run_services(listener=listener.run))
    services = pod_services(server, settings, access, listener, clock)
    return {**services, "certificates": certificate_runtime(server, clock).run}


def _record_clock_jump(server: Server, runtime: Runtime, description: str) -> None:
    """Record a clock jump as an event about a namespace that every cluster has."""
    table = server.store.peek("namespaces")
    about = None if table is None else table.get("", "kube-system")
    if about is not None:
        runtime.events.warning(about, "ClockJumped", description)


# Most planes have no custom providers, whose imports are made for the first one only.


def _admission(providers: Sequence[Provider]) -> list[Admission]:
    if not providers:
        return []
    from kapy.sdk.admission_in_process import InProcess

    return [InProcess(provider.admission) for provider in providers]


def _conversion(providers: Sequence[Provider]) -> Convert:
    if not providers:
        return convert_documents
    from kapy.sdk.admission_in_process import conversion

    return first_supported(
        convert_documents, *(conversion(provider.admission) for provider in providers)
    )


async def _install_certificates(client: Client) -> None:
    """Install the CRDs of cert-manager's kinds in the plane."""
    from kapy.apps.certificates.definitions import install_definitions as install

    await install(client)


async def _install_kinds(client: Client, providers: Sequence[Provider]) -> None:
    for provider in providers:
        from kapy.apps.provider.installing import install_kinds

        async with wait_with_limit(f"the API server to take in the kinds of {provider.label}"):
            await install_kinds(client, provider)


def _add_controllers_and_providers(
    runtime: Runtime, providers: Sequence[Provider]
) -> dict[str, Service]:
    services: dict[str, Service] = {}
    for provider in providers:
        from kapy.apps.provider.controllers import add_provider

        services.update(add_provider(provider, runtime))
    return services


def _transport_factory(
    settings: Settings, post: HookTransport | None, places: ServiceAddresses
) -> Callable[[], HookTransport]:
    """Return the transport to extensions: the given one, else HTTPS."""
    if post is not None:
        return lambda: post
    return lambda: _https_transport(settings, places)


def _https_transport(settings: Settings, places: ServiceAddresses) -> HookTransport:
    # imports aiohttp, which is needed for extensions only
    from kapy.apps.extensions.transport import https_transport

    return https_transport(settings.controllers.extensions, places)


def _serve_metrics(server: Server, runtime: Runtime) -> None:
    """Serve the metrics of the API server, the controllers and the process on one page."""
    from prometheus_client import ProcessCollector

    runtime.metrics.add(server.families)
    ProcessCollector(registry=runtime.metrics.registry)
    server.metrics = runtime.metrics.registry.collect


def _serve_calls(server: Server, calls: ObservableTransport) -> None:
    """Stream calls of extensions as they happen, for `kapy hooks watch`."""

    from kapy.hooks.inspection import CALLS, RECALL

    def page(request: Request) -> Reply:
        return Reply(200, calls.watch(recall=request.query.get(RECALL) == "true"))

    server.pages[CALLS] = page


def _add_health_checks(server: Server, runtime: Runtime) -> None:
    def informers() -> str | None:
        waiting = runtime.cache.unsynced_resources()
        names = ", ".join(sorted(item.group_resource for item in waiting))
        return f"{len(waiting)} informers not started yet: {names}" if waiting else None

    def controllers() -> str | None:
        return None if runtime.working.is_set() else "the controllers do not run"

    server.health.add("informer-sync", informers)
    server.health.add("poststarthook/start-controllers", controllers)


def _check_data(settings: Settings) -> None:
    """Check that the data exist if keys of an earlier run exist. Raises DataLost."""
    data, serving = settings.data, settings.serving
    if data is None or serving is None or serving.pki is None or settings.accept_data_loss:
        return
    check_presence(data / "store.db", read_mark(data), [serving.pki / "ca.key"])


async def _credentials(server: Server, settings: Settings, clock: Clock) -> Credentials | None:
    """Return the plane's certificates, None if it serves no network. Raises UnusableCredentials,
    UnusableKey.
    """
    serving = settings.serving
    replace = serving is not None and serving.replace_keys
    server.access.tokens.check_key(replace=replace)
    if serving is None:
        return None
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(
        None, issue_credentials, serving, clock(), _published_ca(server)
    )


def _published_ca(server: Server) -> bytes:
    """Return the CA that the plane published in its namespaces, b"" for none."""
    table = server.store.peek("configmaps")
    result = None if table is None else table.get("kube-system", "kube-root-ca.crt")
    data = (result or {}).get("data") or {}
    return str(data.get("ca.crt", "")).encode()
