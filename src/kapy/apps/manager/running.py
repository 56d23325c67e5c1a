"""One manager, running: connection, leader election, controllers, endpoints."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from kapy._aio.clock import Clock
from kapy._aio.services import Service, running
from kapy.apps.extension_server.certificate import certificate_in
from kapy.apps.extension_server.serving import serving
from kapy.apps.manager.diagnostics import Diagnostics
from kapy.apps.manager.endpoints import Endpoints, address_of, told_at
from kapy.apps.manager.options import Managing
from kapy.client.client import Client
from kapy.client.https import Https
from kapy.client.in_cluster import MOUNTED
from kapy.client.kubeconfig import Kubeconfig
from kapy.engine.leadership import Leadership
from kapy.engine.options import DEFAULT_OPTIONS, ManagerOptions
from kapy.engine.runtime import Runtime
from kapy.kube import Key
from kapy.kube.errors import Forbidden, NotFound
from kapy.kube.names import Resource

NO_ADDRESS: Final = "0"

Adding = Callable[[Runtime], Mapping[str, Service]]
"""Adds controllers; what is to be run beside them, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """A manager: name (its field manager), lease (its name), and what it runs, where."""

    name: str
    lease: str
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
        terms = told.terms(_lease(manager), f"{socket.gethostname()}_{random.getrandbits(64):x}")
        leadership = None if terms is None else Leadership(own, terms, clock, random)
        runtime = Runtime.on(
            transport if leadership is None else leadership.fenced(transport),
            clock=clock,
            field_manager=manager.name,
            random=random,
            options=manager.options,
        )
        if leadership is not None:
            runtime.turn = leadership.lead
        services = add(runtime)
        endpoints = Endpoints(runtime, lambda: missing(runtime))
        await stack.enter_async_context(told_at(endpoints, told.health))
        await _diagnose(stack, Diagnostics(runtime, _judge(told, own)), told, clock)
        await stack.enter_async_context(running(controllers=runtime.run, **services))
        yield runtime


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
    certificate.context.minimum_version = told.tls_version
    if told.cipher_suites:
        certificate.context.set_ciphers(":".join(told.cipher_suites))
    host, port = address_of(told.diagnostics)
    await stack.enter_async_context(serving(application, certificate, host=host, port=port))


def _lease(manager: Manager) -> Key:
    """The Lease: in this pod's namespace, or in that of the kubeconfig's context."""
    named = manager.told.lease_namespace or os.environ.get("POD_NAMESPACE", "")
    try:
        named = named or (MOUNTED / "namespace").read_text().strip()
    except OSError:
        named = manager.access.namespace or "default"
    return Key(named, manager.lease)
