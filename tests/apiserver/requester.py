"""A person who asks one API server, and the kind of things that are asked about."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from kapy._aio.clock import loop_clock
from kapy.apiserver.admission.plugin import Admission
from kapy.apiserver.server import Server
from kapy.kube import Document
from kapy.kube.http import ADMIN, MERGE_PATCH, Request, User

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GIZMOS = "/apis/example.dev/v1/namespaces/default/gizmos"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"

GIZMO: Document = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gizmos.example.dev"},
    "spec": {
        "group": "example.dev",
        "scope": "Namespaced",
        "names": {"plural": "gizmos", "kind": "Gizmo", "shortNames": ["gz"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                    },
                },
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "additionalPrinterColumns": [
                    {"name": "Color", "type": "string", "jsonPath": ".spec.color"}
                ],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "color": {"type": "string", "enum": ["red", "blue"]},
                                    "replicas": {"type": "integer", "default": 1},
                                },
                            },
                            "status": {
                                "type": "object",
                                "properties": {
                                    "phase": {"type": "string"},
                                    "replicas": {"type": "integer"},
                                },
                            },
                        },
                    }
                },
            }
        ],
    },
}


def gizmo(name: str, **spec: Any) -> Document:
    """A Gizmo."""
    return {
        "apiVersion": "example.dev/v1",
        "kind": "Gizmo",
        "metadata": {"name": name},
        "spec": spec or {"color": "red"},
    }


def config_map(name: str, **metadata: Any) -> Document:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


class Asking:
    """Requests as one user; every answer is status and body."""

    def __init__(self, server: Server, user: User = ADMIN) -> None:
        self.server = server
        self.transport = server.transport(user)

    async def ask(
        self, method: str, path: str, body: Any = None, media: str = "", **query: str
    ) -> tuple[int, Any]:
        """One request."""
        headers = {"content-type": media} if media else {}
        reply = await self.transport(Request(method, path, query, headers, body))
        return reply.status, reply.body

    async def get(self, path: str, **query: str) -> Any:
        """The body of a response to GET; fails unless the status is 200."""
        status, body = await self.ask("GET", path, **query)
        assert status == 200, body
        return body

    async def create(self, path: str, document: Document) -> Any:
        """The object as it was created."""
        status, body = await self.ask("POST", path, document)
        assert status == 201, body
        return body

    async def merge(self, path: str, patch: Document) -> Any:
        """The object after a merge patch."""
        status, body = await self.ask("PATCH", path, patch, MERGE_PATCH)
        assert status == 200, body
        return body

    async def delete(self, path: str, **options: Any) -> Any:
        """The answer to a deletion."""
        status, body = await self.ask("DELETE", path, options or None)
        assert status == 200, body
        return body

    async def gone(self, path: str) -> bool:
        """Whether nothing is there."""
        return (await self.ask("GET", path))[0] == 404

    async def names(self, path: str, **query: str) -> list[str]:
        """The names in a list."""
        return [item["metadata"]["name"] for item in (await self.get(path, **query))["items"]]

    @asynccontextmanager
    async def watching(self, path: str, **query: str) -> AsyncIterator[Any]:
        """An open watch."""
        stream = await self.get(path, watch="true", **query)
        try:
            yield stream
        finally:
            await stream.aclose()


async def taken(stream: Any, count: int) -> list[tuple[str, str]]:
    """Type and name of the next events of a watch."""
    events = [await anext(stream) for _ in range(count)]
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


@asynccontextmanager
async def running(
    path: Path | None = None,
    *,
    admission: Sequence[Admission] = (),
    server_class: type[Server] = Server,
) -> AsyncIterator[Asking]:
    """A server with its controllers running, which serves Gizmos."""
    server = server_class.open(path, clock=loop_clock(), admission=admission)
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(server.run())
            await asyncio.sleep(0)
            asking = Asking(server)
            await asking.create(CRDS, GIZMO)
            yield asking
            task.cancel()
    finally:
        server.close()
