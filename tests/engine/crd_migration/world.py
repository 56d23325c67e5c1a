"""A CRD that lives through versions, on the embedded API server, on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from kapy._aio.clock import loop_clock
from kapy._aio.services import run_services
from kapy.apiserver.server import Server
from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.engine.crd_migration import Phase
from kapy.engine.crd_migration.controller import OBSERVED, add_crd_migration
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import Conflict, NotFound, ServerError
from kapy.kube.http import ADMIN, Reply, Request, Transport, User
from kapy.kube.names import CRDS, Resource

GROUP = "test.cluster.x-k8s.io"
KIND = Resource(GROUP, "v1beta2", "testclusters", "TestCluster")
OLD = Resource(GROUP, "v1beta1", "testclusters", "TestCluster")
NAME = Key("", KIND.group_resource)

T1 = {"v1beta1": "served stored"}
T2 = {"v1beta1": "served", "v1beta2": "served stored"}
T3 = {"v1beta1": "", "v1beta2": "served stored"}
T4 = {"v1beta2": "served stored"}
"""The life of a version: alone, joined by another one, not served any more, removed."""


def crd(versions: Mapping[str, str], resource: Resource = KIND) -> Document:
    """The CRD of a kind that may have any fields."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"plural": resource.plural, "kind": resource.kind, "listKind": f"{resource.kind}List"}
    names["singular"] = resource.kind.lower()
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": resource.group_resource},
        "spec": {
            "group": resource.group,
            "names": names,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [
                {
                    "name": name,
                    "served": "served" in version,
                    "storage": "stored" in version,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
                for name, version in versions.items()
            ],
        },
    }


class Watched(Interceptor):
    """Notes writes, and answers some of them with an error. fails: error by method and path; taken
    out when it is given."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.writes: list[tuple[str, Any]] = []
        self.requests: list[Request] = []
        self.fails: dict[str, list[Exception]] = {}

    async def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        if request.method == "GET":
            return await self.transport(request)
        self.writes.append((request.path, request.body))
        if errors := self.fails.get(request.path):
            error = errors.pop(0)
            assert isinstance(error, Conflict | ServerError | NotFound)
            return Reply(int(error.status()["code"]), error.status())
        return await self.transport(request)


@dataclass
class World:
    """The server, and its administrator. migrators: those that have been started."""

    server: Server
    client: Client
    migrators: list[Watched] = field(default_factory=list)

    async def install(self, versions: Mapping[str, str], resource: Resource = KIND) -> None:
        wanted, key = crd(versions, resource), Key("", resource.group_resource)
        try:
            there = await self.client.get(CRDS, key)
        except NotFound:
            await self.client.create(CRDS, wanted)
        else:
            await self.client.update(CRDS, {**there, "spec": wanted["spec"]})
        await asyncio.sleep(1)

    async def apply(self, resource: Resource, name: str, manager: str, **spec: Any) -> Document:
        metadata = {"name": name} | ({"namespace": "default"} if resource.namespaced else {})
        document = {"apiVersion": resource.api_version, "kind": resource.kind}
        applied = {**document, "metadata": metadata, "spec": spec}
        return await self.client.apply(resource, applied, field_manager=manager)

    async def crd(self) -> Document:
        return await self.client.get(CRDS, NAME)

    async def stored(self) -> list[str]:
        return list((await self.crd())["status"]["storedVersions"])

    async def observed(self) -> str | None:
        annotations = (await self.crd())["metadata"].get("annotations") or {}
        text: str | None = annotations.get(OBSERVED)
        return text

    async def owners(self, resource: Resource = KIND) -> dict[str, list[tuple[str, str]]]:
        """Manager and version of the managedFields entries, by the object's name."""
        return {
            document["metadata"]["name"]: [
                (entry["manager"], entry["apiVersion"].partition("/")[2])
                for entry in document["metadata"]["managedFields"]
            ]
            for document in (await self.client.list(resource)).items
        }

    @asynccontextmanager
    async def migrator(
        self,
        kinds: Mapping[str, bool] | None = None,
        *,
        skipped: Collection[Phase] = (),
        user: User = ADMIN,
        fails: Mapping[str, Sequence[Exception]] | None = None,
    ) -> AsyncIterator[Watched]:
        """A manager that migrates, for as long as the context is open."""
        watched = Watched(self.server.transport(user))
        watched.fails.update({path: list(errors) for path, errors in (fails or {}).items()})
        runtime = Runtime.on(watched, clock=loop_clock(), random=Random(1), field_manager="capi")
        add_crd_migration(runtime, kinds or {NAME.name: False}, skipped=skipped)
        async with run_services(runtime=runtime.run):
            await asyncio.sleep(60)
            yield watched


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    server = Server.open(None, clock=loop_clock())
    try:
        async with run_services(server=server.run):
            await asyncio.sleep(0)
            yield World(server, Client(server.transport(ADMIN), field_manager="people"))
    finally:
        server.close()
