"""Applies a change in the sandbox as `kubectl apply` does."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.apps.plan.applying import apply
from kapy.apps.plan.manner import DEFAULT, ApplyOptions
from kapy.apps.plan.sandbox import Sandbox, UnknownSandboxKind
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, KapyError
from kapy.kube.names import CRDS, NAMESPACES, split_api_version


@dataclass(frozen=True, slots=True)
class RequestedChange:
    """An object that the user wants to apply or delete, and its location. deletes: delete it.
    options: how it is applied."""

    document: Document
    source: str = ""
    deletes: bool = False
    options: ApplyOptions = DEFAULT

    def __str__(self) -> str:
        where = f" ({self.source})" if self.source else ""
        return f"{self.document.get('kind')} {Key.of(self.document)}{where}"


class ChangeRefused(KapyError):
    """An API server would refuse an object; the message names it and the reason."""


@dataclass(slots=True)
class ChangeOrder:
    """Sorts requested changes so that each can be admitted: classes before their Clusters,
    templates before classes."""

    definitions: list[RequestedChange] = field(default_factory=list)
    others: list[RequestedChange] = field(default_factory=list)
    classes: list[RequestedChange] = field(default_factory=list)
    clusters: list[RequestedChange] = field(default_factory=list)

    @classmethod
    def of(cls, requested: Iterable[RequestedChange]) -> ChangeOrder:
        order = cls()
        places = {
            (CRDS.group, CRDS.kind): order.definitions,
            (ClusterClass.RESOURCE.group, ClusterClass.RESOURCE.kind): order.classes,
            (Cluster.RESOURCE.group, Cluster.RESOURCE.kind): order.clusters,
        }
        for change in requested:
            group, _ = split_api_version(change.document["apiVersion"])
            places.get((group, change.document["kind"]), order.others).append(change)
        return order


async def apply_changes(sandbox: Sandbox, requested: Iterable[RequestedChange]) -> None:
    """Make all changes, and let the controllers react.

    Raises ChangeRefused; the sandbox is then incomplete.
    """
    order = ChangeOrder.of(_without_foreign_scope(sandbox, change) for change in requested)
    await sandbox.define(definition.document for definition in order.definitions)
    await add_namespaces(sandbox, (item.document for item in (*order.others, *order.classes)))
    await add_namespaces(sandbox, (cluster.document for cluster in order.clusters))
    for step in (order.others, order.classes, order.clusters):
        for change in step:
            await _apply_change(sandbox, change)
        if step:
            await sandbox.settle()


def watch_changed_objects(sandbox: Sandbox, requested: Iterable[RequestedChange]) -> None:
    """Include the requested objects in snapshots, even those of built-in kinds."""
    for change in requested:
        with suppress(UnknownSandboxKind):  # it is refused later, or the changes contain its CRD
            if not sandbox.kind_of(change.document).custom:
                sandbox.watched.add(
                    sandbox.name_of(_without_foreign_scope(sandbox, change).document)
                )


def _without_foreign_scope(sandbox: Sandbox, change: RequestedChange) -> RequestedChange:
    """Return the wish, without a namespace if its kind is cluster-scoped."""
    metadata = change.document["metadata"]
    with suppress(UnknownSandboxKind):
        if "namespace" in metadata and not sandbox.kind_of(change.document).resource.namespaced:
            bare = {name: value for name, value in metadata.items() if name != "namespace"}
            return replace(change, document={**change.document, "metadata": bare})
    return change


async def add_namespaces(sandbox: Sandbox, documents: Iterable[Document]) -> None:
    """Make the namespaces that the objects are in."""
    there = {item["metadata"]["name"] for item in (await sandbox.client.list(NAMESPACES)).items}
    wanted = {document["metadata"].get("namespace", "") for document in documents}
    for name in sorted(wanted - there - {""}):
        await sandbox.client.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        )


async def _apply_change(sandbox: Sandbox, change: RequestedChange) -> None:
    try:
        resource = sandbox.kind_of(change.document).resource
        if change.deletes:
            await sandbox.client.delete(resource, Key.of(change.document))
            return
        await apply(
            sandbox.client, resource, _check_resource_version(sandbox, change), change.options
        )
    except UnknownSandboxKind as error:
        raise ChangeRefused(f"{change}: {error}") from None
    except ApiError as error:
        raise ChangeRefused(f"{change} would be refused: {error}") from None


def _check_resource_version(sandbox: Sandbox, change: RequestedChange) -> Document:
    """Return the wanted object without its resourceVersion. Raises ChangeRefused if that is an
    outdated one.
    """
    metadata = dict(change.document["metadata"])
    version = metadata.pop("resourceVersion", None)
    now = sandbox.versions.get(sandbox.name_of(change.document), "")
    if version is not None and version != now:
        raise ChangeRefused(
            f"{change} would be refused: its resourceVersion is {version}, but the object has been "
            f"modified and is at {now} by now; read it again, or leave the resourceVersion out"
        )
    return {**change.document, "metadata": metadata}
