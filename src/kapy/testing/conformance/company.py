"""Who a control plane of Machines needs beside it: core's controllers, and machines that boot.

They are kapy's own, with its kubeadm bootstrap provider and its in-memory machines, and run in
this process whatever the provider is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Final

from kapy._aio.services import Service, running
from kapy.api.embedded import FailureDomain
from kapy.contract.control_plane import ControlPlane
from kapy.contract.fields import Version
from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.nested import value_at
from kapy.testing.conformance.ground import MANAGER, Ground
from kapy.testing.conformance.subject import Kind, Limits, Subject, Way
from kapy.testing.played_core import reference

if TYPE_CHECKING:
    from kapy.providers.inmemory import InMemory

INFRASTRUCTURE: Final[Document] = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
    "kind": "DevCluster",
    "spec": {"backend": {"inMemory": {}}},
}
"""The infrastructure of clusters, without a name."""
DOMAINS: Final = (
    FailureDomain(name="north", control_plane=True),
    FailureDomain(name="south", control_plane=True),
    FailureDomain(name="west", control_plane=False),
)
"""Their failure domains."""


_MACHINES: Final[Document] = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
    "kind": "DevMachineTemplate",
    "metadata": {"name": "conformance"},
    "spec": {"template": {"spec": {"backend": {"inMemory": {}}}}},
}


def accompanied(subject: Subject) -> Subject:
    """A provider among others, if it makes control planes of Machines: these are ours, whatever
    machines its examples have."""
    kinds, way = tuple(map(_on_our_machines, subject.kinds)), subject.way
    if kinds == subject.kinds or not way.restarts:
        return subject
    among = Accompanied(lambda _: way, network=way.network, restarts=way.restarts)
    return replace(subject, kinds=kinds, way=among, extras=[*subject.extras, _MACHINES])


def _on_our_machines(kind: Kind) -> Kind:
    template = value_at(kind.example, ("spec", "machineTemplate"))
    if kind.role != "control-plane" or not isinstance(template, dict):
        return kind
    path = ControlPlane.infrastructure_ref.path(kind.contract).split(".")[2:]
    changed = {**template, **_nested(template, path, _named(kind.contract))}
    spec = {**kind.example["spec"], "machineTemplate": changed}
    return replace(kind, example={**kind.example, "spec": spec})


def _nested(inside: Document, path: list[str], value: Document) -> Document:
    """What differs when the field at a path has a value."""
    first, *rest = path
    return {
        first: {**(inside.get(first) or {}), **_nested(inside.get(first) or {}, rest, value)}
        if rest
        else value
    }


def _named(contract: Version) -> Document:
    """The reference to our machines, as a contract has references."""
    found = reference(_MACHINES)
    if contract is Version.V1BETA2:
        return found
    return {"apiVersion": _MACHINES["apiVersion"], "kind": found["kind"], "name": found["name"]}


@dataclass(frozen=True)
class Accompanied:
    """A provider that runs among others. way: how it runs, for these machines."""

    way: Callable[[InMemory], Way]
    network: bool = False
    restarts: bool = True

    @asynccontextmanager
    async def running(self, ground: Ground, limits: Limits) -> AsyncIterator[None]:
        """It runs meanwhile, and they do."""
        async with AsyncExitStack() as stack:
            company = _company(ground, sockets=self.network)
            machines = await stack.enter_async_context(company)
            await stack.enter_async_context(self.way(machines).running(ground, limits))
            yield


@asynccontextmanager
async def _company(ground: Ground, *, sockets: bool) -> AsyncIterator[InMemory]:
    from kapy.apps.dialing import over_network
    from kapy.providers.inmemory import InMemory

    runtime = Runtime.on(
        ground.client.transport, clock=ground.clock, field_manager=MANAGER, random=Random(11)
    )
    machines = InMemory(
        clock=ground.clock,
        elsewhere=over_network if sockets else None,
        failure_domains=DOMAINS,
    )
    services = _added(runtime, machines)
    if sockets:
        machines.listen()
        services["workload clusters"] = machines.serve
    async with running(runtime=runtime.run, **services):
        await runtime.working.wait()
        yield machines


def _added(runtime: Runtime, machines: InMemory) -> dict[str, Service]:
    from kapy.core.cluster.controller import add_to as add_clusters
    from kapy.core.machine.controller import add_to as add_machines
    from kapy.providers.inmemory import add_to as add_in_memory
    from kapy.providers.kubeadm.bootstrap.controller import add_to as add_bootstrap
    from kapy.remote.connections import Connections

    connections = Connections(runtime, dial=machines.dial)
    machines.subscribe(connections.poke)
    add_clusters(runtime, connections)
    add_machines(runtime, connections)
    add_bootstrap(runtime, connections)
    add_in_memory(runtime, machines)
    return {"connections": connections.run}
