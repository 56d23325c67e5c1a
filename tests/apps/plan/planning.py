"""A plane with a cluster of a class, plans of changes, and the changes themselves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

from kapy._aio.clock import loop_clock
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.plan.applying import apply as kubectl_apply
from kapy.apps.plan.changes import RequestedChange
from kapy.apps.plan.plan_sources import ClusterSource
from kapy.apps.plan.planned import Plan, compute_plan
from kapy.apps.plan.snapshot import Name
from kapy.apps.settings import EMBEDDED_GATES, EMBEDDED_OPTIONS, ControllerConfig, Settings
from kapy.client.kinds import Kinds
from kapy.kube import Document, Key
from kapy.kube.names import GroupKind, split_api_version
from kapy.kube.yaml import load_all

SAMPLE: Final = Path(__file__).parents[2] / "data" / "plan" / "meadow.yaml"
LONG: Final = 3600.0
"""Seconds of virtual time after which every rollout of these tests is over."""


def sample() -> list[Document]:
    """The class with its templates, then the Cluster."""
    return [_placed(item) for item in load_all(SAMPLE.read_text()) if item]


def _placed(document: Document) -> Document:
    return {**document, "metadata": {"namespace": "default", **document["metadata"]}}


def the(documents: Iterable[Document], kind: str, name: str = "") -> Document:
    """A copy of the only (or the named) document of a kind, to be changed."""
    results = [
        document
        for document in documents
        if document["kind"] == kind and name in ("", document["metadata"]["name"])
    ]
    assert len(results) == 1, (kind, name)
    return deepcopy(results[0])


def cluster(**topology: Any) -> Document:
    """The Cluster, with other values in its topology."""
    document = the(sample(), "Cluster")
    document["spec"]["topology"] |= topology
    return document


@asynccontextmanager
async def plane(documents: Sequence[Document] = ()) -> AsyncIterator[ManagementPlane]:
    """A plane on which a cluster of the class is settled."""
    settings = Settings(controllers=ControllerConfig(manager=EMBEDDED_OPTIONS))
    async with management_plane(settings, clock=loop_clock()) as running:
        await apply(running, documents or sample())
        await asyncio.sleep(LONG)
        yield running


async def apply(
    running: ManagementPlane, documents: Iterable[Document], *, delete: bool = False
) -> None:
    """As `kubectl apply` (or delete) of the documents, in their order but classes before Clusters
    and templates before classes."""
    kinds = Kinds(running.client)
    order = {"ClusterClass": 1, "Cluster": 2}
    for document in sorted(documents, key=lambda item: order.get(item["kind"], 0)):
        resource = await kinds.of(document)
        if delete:
            await running.client.delete(resource, Key.of(document))
            continue
        await kubectl_apply(running.client, resource, document)
        await asyncio.sleep(1)


async def plan_of(
    running: ManagementPlane, documents: Iterable[Document], *, delete: bool = False
) -> Plan:
    """Return the plan for applying (or deleting) documents on a plane."""
    requested = [RequestedChange(document, deletes=delete) for document in documents]
    world = ClusterSource(running.client)
    return await compute_plan(world, requested, clock=running.runtime.clock, gates=EMBEDDED_GATES)


def graph(running: ManagementPlane) -> dict[Name, Document]:
    """Everything of Cluster API's kinds, as it is stored."""
    result = {}
    for kind in running.server.context.registry:
        if not kind.custom or kind.resource != kind.storage:
            continue
        table = running.server.store.peek(kind.table)
        for document in () if table is None else table.scan(""):
            group, _ = split_api_version(document["apiVersion"])
            result[Name(GroupKind(group, document["kind"]), Key.of(document))] = document
    return result
