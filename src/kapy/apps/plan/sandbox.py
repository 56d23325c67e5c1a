"""A copy of a management cluster in memory, for trying out a change.

It is the embedded API server with its admission and the controllers of managed topologies only: no
controller that creates machines, and no provider. Objects keep their UIDs, statuses and managed
fields.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kapy._aio.clock import Clock
from kapy._aio.services import run_services
from kapy.api.crds import crds
from kapy.api.features import FeatureGates
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.server import Server
from kapy.apps.admission import AdmissionRules
from kapy.apps.conversion import convert_documents
from kapy.apps.plan.nodes import AssumedNodes
from kapy.apps.plan.snapshot import Name, Snapshot
from kapy.client.client import Client
from kapy.core.clusterclass.controller import add_to as add_cluster_classes
from kapy.core.topology.controller import add_to as add_topologies
from kapy.core.topology.scope import Explain
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.http import ADMIN
from kapy.kube.names import CRDS, GroupKind, split_api_version

if TYPE_CHECKING:
    from kapy.hooks.transport import HookTransport

FIELD_MANAGER: Final = "kubectl"
SETTLE_SECONDS: Final = 30.0
"""Seconds of virtual time in which controllers that have anything to do, do it."""


class UnknownSandboxKind(KapyError):
    """An object is of a kind that the sandbox does not know."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A simulated management cluster.

    client: acts as its administrator. nodes: the assumed Nodes of workload clusters. versions: the
    objects' resourceVersions in the original cluster. watched: objects of built-in kinds that
    snapshots include.
    """

    server: Server
    runtime: Runtime
    client: Client
    nodes: AssumedNodes = field(default_factory=AssumedNodes)
    versions: dict[Name, str] = field(default_factory=dict)
    watched: set[Name] = field(default_factory=set)

    async def define(self, crds: Iterable[Document]) -> None:
        """Add CRDs of other providers; existing ones stay."""
        there = {Key.of(item) for item in (await self.client.list(CRDS)).items}
        for crd in crds:
            if Key.of(crd) not in there:
                await self.client.create(CRDS, _without_server_fields(crd))

    async def store(self, documents: Iterable[Document]) -> None:
        """Store objects as they are, without admission; an object without a UID gets one.

        Raises UnknownSandboxKind.
        """
        plane = self.server.context
        for document in documents:
            kind = self.kind_of(document)
            version = document["metadata"].get("resourceVersion", "")
            self.versions.setdefault(self.name_of(document), version)
            (stored,) = await plane.converter.convert_objects(
                [document], kind.resource, kind.storage
            )
            key = Key.of(stored)
            plane.store.put(plane.table(kind), key.namespace, key.name, _with_metadata(stored))
        await plane.store.wait_for_commit()

    async def remove(self, documents: Iterable[Document]) -> None:
        """Remove objects regardless of their finalizers."""
        plane = self.server.context
        for document in documents:
            key = Key.of(document)
            table = plane.table(self.kind_of(document))
            if table.get(key.namespace, key.name) is not None:
                plane.store.delete(table, key.namespace, key.name, document)
        await plane.store.wait_for_commit()

    def kind_of(self, document: Document) -> Kind:
        """Return the served kind of an object. Raises UnknownSandboxKind."""
        api_version, kind = document.get("apiVersion", ""), document.get("kind", "")
        group, version = split_api_version(api_version)
        result = self.server.context.registry.find_kind(group, version, kind)
        if result is None:
            raise UnknownSandboxKind(
                f'no kind "{kind}" in {api_version}: its CustomResourceDefinition is not there; '
                "give its file, too, or plan against a management cluster that has it"
            )
        return result

    def name_of(self, document: Document) -> Name:
        """Return the name of an object in a snapshot. Raises UnknownSandboxKind."""
        resource = self.kind_of(document).resource
        return Name(GroupKind(resource.group, resource.kind), Key.of(document))

    def snapshot(self) -> Snapshot:
        """Return all objects of custom kinds, and the watched ones of others, as they are now."""
        result = {}
        wanted = {entry.kind for entry in self.watched}
        for kind in self.server.context.registry:
            name = GroupKind(kind.resource.group, kind.resource.kind)
            if kind.resource != kind.storage or not (kind.custom or name in wanted):
                continue
            table = self.server.store.peek(kind.table)
            for document in () if table is None else table.scan(""):
                group_kind = Name(name, Key.of(document))
                if kind.custom or group_kind in self.watched:
                    result[group_kind] = document
        return result

    async def settle(self) -> None:
        """Let the controllers work until nothing changes any more; virtual time passes at once."""
        await asyncio.sleep(SETTLE_SECONDS)


@asynccontextmanager
async def sandbox(
    clock: Clock,
    gates: FeatureGates,
    *,
    fill: Callable[[Sandbox], Awaitable[None]],
    explain: Explain,
    post: HookTransport | None,
) -> AsyncIterator[Sandbox]:
    """A running sandbox while the context is open.

    fill: puts objects in before any controller starts. explain: receives the causes of changes by
    patches. post: connects to extensions, None for HTTPS; they are called if the RuntimeSDK gate is
    open. The event loop should use virtual time (`kapy.testing.virtual_time`), otherwise settling
    takes real time.
    """
    rules = AdmissionRules(gates)
    server = Server.open(None, clock=clock, admission=(rules,), convert=convert_documents)
    client = Client(server.transport(ADMIN), field_manager=FIELD_MANAGER)
    rules.enable_reads(client)
    runtime = Runtime.on(server.transport(ADMIN), clock=clock)
    result = Sandbox(server, runtime, client)
    try:
        async with run_services(server=server.run):
            await asyncio.sleep(0)  # the server creates its namespaces in its first step
            # Our CRDs are known to be valid, and validating them takes a tenth of a second.
            await result.store(map(_without_server_fields, crds()))
            await fill(result)
            result.nodes.read(result.snapshot())
            if gates.runtime_sdk:
                _add_extension_callers(runtime, result.nodes, explain, post)
            else:
                add_cluster_classes(runtime)
                add_topologies(runtime, result.nodes, explain=explain)
            async with run_services(runtime=runtime.run):
                await runtime.working.wait()
                yield result
    finally:
        server.close()


def _add_extension_callers(
    runtime: Runtime, nodes: AssumedNodes, explain: Explain, post: HookTransport | None
) -> None:
    """Add the same controllers, with clients of the existing extensions."""
    from kapy.apps.extensions import extensions  # all hooks: most plans have no extension
    from kapy.apps.extensions.planning import PlanningLifecycle
    from kapy.hooks.blocking_transport import BlockingTransport

    called = extensions(runtime, post or BlockingTransport(), max_timeout=10)
    hooks = PlanningLifecycle(called.caller, called.caller.catalog)
    add_cluster_classes(runtime, discovery=called.variables)
    add_topologies(runtime, nodes, hooks=hooks, patches=called.patches, explain=explain)


def _with_metadata(document: Document) -> Document:
    """Return a copy with the metadata that a server gives to every object."""
    metadata = dict(document["metadata"])
    group, _ = split_api_version(document["apiVersion"])
    metadata.setdefault("uid", f"{group}/{document['kind']}/{Key.of(document)}")
    metadata.setdefault("generation", 1)
    metadata.setdefault("creationTimestamp", "2000-01-01T00:00:00Z")
    return {**document, "metadata": metadata}


def _without_server_fields(crd: Document) -> Document:
    """Return a CRD without the fields that a server wrote into it."""
    crd_metadata = crd["metadata"]
    metadata = {
        name: crd_metadata[name]
        for name in ("name", "labels", "annotations")
        if name in crd_metadata
    }
    spec = {**crd["spec"], "conversion": {"strategy": "None"}}
    return {
        "apiVersion": crd["apiVersion"],
        "kind": crd["kind"],
        "metadata": metadata,
        "spec": spec,
    }
