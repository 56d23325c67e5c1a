"""Tests of `kubectl explain`: every field of every kind in every version has a description."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest_asyncio

from kapy._aio.clock import loop_clock
from kapy.api.kinds import KINDS
from kapy.apiserver.server import Server
from kapy.apps.definitions import install_definitions
from kapy.client.client import Client
from kapy.kube import Document
from kapy.kube.http import ADMIN, Request, Transport

META = "io.k8s.apimachinery.pkg.apis.meta.v1"


@pytest_asyncio.fixture
async def transport() -> Transport:
    """A server with our kinds and no controllers."""
    server = Server.open(None, clock=loop_clock())
    transport = server.transport(ADMIN)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(server.run())
        await asyncio.sleep(0)
        await install_definitions(Client(transport))
        running.cancel()
    return transport


async def schemas(transport: Transport, group: str, version: str) -> dict[str, Document]:
    reply = await transport(Request("GET", f"/openapi/v3/apis/{group}/{version}", {}, {}, None))
    body: Any = json.loads(reply.body) if isinstance(reply.body, bytes) else reply.body
    results: dict[str, Document] = body["components"]["schemas"]
    return results


def of_kind(values: dict[str, Document], group: str, version: str, kind: str) -> Document:
    wanted = {"group": group, "version": version, "kind": kind}
    [schema] = [
        document
        for document in values.values()
        if wanted in document.get("x-kubernetes-group-version-kind", [])
    ]
    return schema


def undescribed(schema: Document, path: str) -> Iterator[str]:
    """Fields without a description. The shared fields of metadata are tested only once."""
    for name, inner in schema.get("properties", {}).items():
        here = f"{path}.{name}"
        if not inner.get("description"):
            yield here
        yield from undescribed(inner, here)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from undescribed(schema[key], f"{path}[]")


async def test_every_field_of_every_kind_and_version_is_explained(
    transport: Transport,
) -> None:
    served = {(kind.group, version) for kind in KINDS for version in kind.versions}
    documents = {entry: await schemas(transport, *entry) for entry in served}
    silent = []
    for kind in KINDS:
        for version in kind.versions:
            schema = of_kind(documents[kind.group, version], kind.group, version, kind.name)
            where = f"{kind.group}/{version} {kind.name}"
            silent += [] if schema.get("description") else [where]
            silent += undescribed(schema, where)
    assert silent == []


async def test_metadata_is_explained(transport: Transport) -> None:
    results = await schemas(transport, "cluster.x-k8s.io", "v1beta2")
    for struct in ("ObjectMeta", "OwnerReference", "ManagedFieldsEntry"):
        assert list(undescribed(results[f"{META}.{struct}"], struct)) == []
