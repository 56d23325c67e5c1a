"""The managers' releases on a server, but for their pods: where these would be are processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from kapy.api.cluster import Cluster
from kapy.apps.components.serving import service_of
from kapy.apps.manager.components import components_of
from kapy.apps.manager.programs import PROGRAMS
from kapy.apps.program.ca_injection import MUTATING, VALIDATING
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import Expired
from kapy.kube.names import CRDS, Resource
from tests.real.servers import free_port
from tests.waiting import LIMIT

PATIENCE = LIMIT
PODS = ("Deployment", "PodDisruptionBudget", "NetworkPolicy")
ASKING = (MUTATING, VALIDATING)
SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")


@dataclass
class Installed:
    """The installed releases. here: this machine's address, for the server. ports: of the webhooks,
    by the manager's name."""

    here: str
    ports: dict[str, int] = field(default_factory=lambda: {name: free_port() for name in PROGRAMS})

    async def install(self, client: Client) -> None:
        """Everything but what has the server ask webhooks; kinds of ours are served then."""
        resources = _Resources(client)
        for name, program in PROGRAMS.items():
            objects = components_of(name)
            for obj in objects:
                if obj["kind"] not in PODS and "webhooks" not in obj:
                    await client.apply(await resources.of(obj), _aggregated(obj, objects))
            await client.apply(SLICES, self._slice(program.prefix, self.ports[name]))
        for crd in (await client.list(CRDS)).items:
            await eventually(client, CRDS, Key.of(crd), is_true("Established"))

    @asynccontextmanager
    async def asking(
        self, client: Client, names: Iterable[str] = tuple(PROGRAMS)
    ) -> AsyncIterator[None]:
        """The server asks these managers' webhooks meanwhile."""
        results = [
            component
            for name in names
            for component in components_of(name)
            if "webhooks" in component
        ]
        kinds = {resource.kind: resource for resource in ASKING}
        try:
            for document in results:
                await client.apply(kinds[document["kind"]], document)
            yield
        finally:
            for item in results:  # nobody answers any more
                await client.delete(kinds[item["kind"]], Key.of(item))

    def _slice(self, prefix: str, port: int) -> Document:
        """Return the EndpointSlice of a Service. No controller writes it on this server."""
        service = service_of(prefix)
        labels = {"kubernetes.io/service-name": service}
        return {
            "apiVersion": SLICES.api_version,
            "kind": SLICES.kind,
            "metadata": {"name": service, "namespace": f"{prefix}-system", "labels": labels},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [self.here]}],
            "ports": [{"name": "", "port": port, "protocol": "TCP"}],
        }


@dataclass
class _Resources:
    """A cache of the resources of kinds, which it reads from the server's discovery."""

    client: Client
    known: dict[tuple[str, str], Resource] = field(default_factory=dict)

    async def of(self, document: Document) -> Resource:
        named = document["apiVersion"], document["kind"]
        if named not in self.known:
            self.known[named] = await self._found(*named)
        return self.known[named]

    async def _found(self, api_version: str, kind: str) -> Resource:
        group, _, version = api_version.rpartition("/")
        path = f"/apis/{api_version}" if group else f"/api/{version}"
        resources = (await self.client.raw("GET", path))["resources"]
        value = next(item for item in resources if item["kind"] == kind and "/" not in item["name"])
        return Resource(group, version, value["name"], kind, value["namespaced"])


def _aggregated(document: Document, objects: list[Document]) -> Document:
    """An object of a release, where no controller puts ClusterRoles together."""
    if "aggregationRule" not in document:
        return document
    roles = (obj for obj in objects if obj["kind"] == "ClusterRole")
    return {**document, "rules": [rule for role in roles for rule in role["rules"]]}


def cluster(key: Key) -> Document:
    """A Cluster whose infrastructure nobody provides."""
    group = "infrastructure.cluster.x-k8s.io"
    reference = {"apiGroup": group, "kind": "DevCluster", "name": "nobody"}
    return {
        "apiVersion": Cluster.RESOURCE.api_version,
        "kind": "Cluster",
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": {"infrastructureRef": reference},
    }


def trusts(document: Document | None) -> bool:
    """Whether a server was told whom to trust for all webhooks of a configuration or a CRD."""
    if document is None:
        return False
    webhooks = document.get("webhooks") or [document["spec"]["conversion"]["webhook"]]
    return all(item["clientConfig"].get("caBundle") for item in webhooks)


async def eventually(
    client: Client, resource: Resource, key: Key, holds: Callable[[Document | None], bool]
) -> None:
    """Watch an object until something is true of it (None: it is gone)."""
    async with asyncio.timeout(PATIENCE):
        while not await _followed(client, resource, key, holds):
            pass  # the server forgot meanwhile what it had listed


async def _followed(
    client: Client, resource: Resource, key: Key, holds: Callable[[Document | None], bool]
) -> bool:
    fields = f"metadata.name={key.name}"
    listed = await client.list(resource, key.namespace, fields=fields)
    if holds(listed.items[0] if listed.items else None):
        return True
    version = listed.resource_version
    opened = client.watch(resource, key.namespace, resource_version=version, fields=fields)
    with suppress(Expired):
        async with opened as events:
            async for event in events:
                removal = event.type == "DELETED"
                if event.type != "BOOKMARK" and holds(None if removal else event.document):
                    return True
    return False


def is_true(condition: str) -> Callable[[Document | None], bool]:
    """A condition that an object has."""

    def holds(document: Document | None) -> bool:
        conditions = ((document or {}).get("status") or {}).get("conditions") or ()
        return any(item["type"] == condition and item["status"] == "True" for item in conditions)

    return holds
