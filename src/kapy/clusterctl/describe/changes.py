"""Watches the objects of a tree, to refresh it when one changes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from random import Random

from kapy.client.client import Client
from kapy.client.kinds import Kinds
from kapy.client.stream import Event
from kapy.clusterctl.describe.source import (
    CLUSTERS,
    MACHINE_DEPLOYMENTS,
    MACHINE_POOLS,
    MACHINE_SETS,
    MACHINES,
    NAME_LABEL,
)
from kapy.clusterctl.describe.tree import Node
from kapy.engine.reflector import Reflector
from kapy.kube import Document, Key
from kapy.kube.names import Resource, split_api_version


async def resources_of(client: Client, root: Node) -> list[Resource]:
    """Return the resources to watch for a tree: core kinds with machines, and the provider kinds in
    it.
    """
    kinds = Kinds(client)
    result = [MACHINES, MACHINE_SETS, MACHINE_DEPLOYMENTS, MACHINE_POOLS]
    for node in root.walk():
        api_version = (node.document or {}).get("apiVersion", "")
        group, _ = split_api_version(api_version)
        if group in ("", CLUSTERS.group):
            continue
        resource = await kinds.preferred(group, node.kind)
        if resource is not None and resource not in result:
            result.append(resource)
    return result


async def follow(
    client: Client, cluster: Key, resources: Iterable[Resource], on_change: asyncio.Event
) -> None:
    """Set `on_change` whenever an object of the cluster changes; runs until it is cancelled.

    resources: the result of `resources_of`. Objects without the cluster's label are ignored.
    """
    sink = _ChangeSink(on_change)
    random = Random()
    own = Reflector(
        client, CLUSTERS, sink, random, namespace=cluster.namespace,
        fields=f"metadata.name={cluster.name}",
    )  # fmt: skip
    labels = f"{NAME_LABEL}={cluster.name}"
    async with asyncio.TaskGroup() as group:
        group.create_task(own.run())
        for resource in resources:
            other = Reflector(
                client, resource, sink, random, namespace=cluster.namespace, labels=labels
            )
            group.create_task(other.run())


class _ChangeSink:
    """A watch sink that only sets an event."""

    def __init__(self, on_change: asyncio.Event) -> None:
        self._changed = on_change

    async def replace(self, items: Sequence[Document], version: str) -> bool:  # noqa: ARG002
        self._changed.set()
        return True

    def rewind(self) -> None:
        self._changed.set()

    def take(self, event: Event) -> None:
        if event.type != "BOOKMARK":
            self._changed.set()
