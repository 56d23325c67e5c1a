"""Applies a change in the sandbox as `kubectl apply` does."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.apps.plan.applying import apply
from kapy.apps.plan.manner import DEFAULT, Manner
from kapy.apps.plan.sandbox import Sandbox, Unknown
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, KapyError
from kapy.kube.names import CRDS, NAMESPACES, split_api_version


@dataclass(frozen=True, slots=True)
class Wish:
    """An object that the user wants to apply or delete, and its location. deletes: delete it.
    manner: how it is applied."""

    document: Document
    source: str = ""
    deletes: bool = False
    manner: Manner = DEFAULT

    def __str__(self) -> str:
        where = f" ({self.source})" if self.source else ""
        return f"{self.document.get('kind')} {Key.of(self.document)}{where}"


class Refused(KapyError):
    """An API server would refuse an object; the message names it and the reason."""


@dataclass(slots=True)
class Order:
    """Sorts wishes so that each can be admitted: classes before their Clusters, templates before
    classes."""

    definitions: list[Wish] = field(default_factory=list)
    others: list[Wish] = field(default_factory=list)
    classes: list[Wish] = field(default_factory=list)
    clusters: list[Wish] = field(default_factory=list)

    @classmethod
    def of(cls, wishes: Iterable[Wish]) -> Order:
        order = cls()
        places = {
            (CRDS.group, CRDS.kind): order.definitions,
            (ClusterClass.RESOURCE.group, ClusterClass.RESOURCE.kind): order.classes,
            (Cluster.RESOURCE.group, Cluster.RESOURCE.kind): order.clusters,
        }
        for wish in wishes:
            group, _ = split_api_version(wish.document["apiVersion"])
            places.get((group, wish.document["kind"]), order.others).append(wish)
        return order


async def grant(sandbox: Sandbox, wishes: Iterable[Wish]) -> None:
    """Make all changes, and let the controllers react.

    Raises Refused; the sandbox is then incomplete.
    """
    order = Order.of(_scoped(sandbox, wish) for wish in wishes)
    await sandbox.define(one.document for one in order.definitions)
    await add_namespaces(sandbox, (one.document for one in (*order.others, *order.classes)))
    await add_namespaces(sandbox, (one.document for one in order.clusters))
    for step in (order.others, order.classes, order.clusters):
        for wish in step:
            await _grant(sandbox, wish)
        if step:
            await sandbox.settle()


def watch_wishes(sandbox: Sandbox, wishes: Iterable[Wish]) -> None:
    """Include the wished objects in snapshots, even those of built-in kinds."""
    for wish in wishes:
        with suppress(Unknown):  # it is refused later, or its definition comes with the wishes
            if not sandbox.kind_of(wish.document).custom:
                sandbox.watched.add(sandbox.name_of(_scoped(sandbox, wish).document))


def _scoped(sandbox: Sandbox, wish: Wish) -> Wish:
    """The wish, without a namespace if its kind is cluster-scoped."""
    metadata = wish.document["metadata"]
    with suppress(Unknown):
        if "namespace" in metadata and not sandbox.kind_of(wish.document).resource.namespaced:
            bare = {name: one for name, one in metadata.items() if name != "namespace"}
            return replace(wish, document={**wish.document, "metadata": bare})
    return wish


async def add_namespaces(sandbox: Sandbox, documents: Iterable[Document]) -> None:
    """Make the namespaces that the objects are in."""
    there = {one["metadata"]["name"] for one in (await sandbox.client.list(NAMESPACES)).items}
    wanted = {one["metadata"].get("namespace", "") for one in documents}
    for name in sorted(wanted - there - {""}):
        await sandbox.client.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        )


async def _grant(sandbox: Sandbox, wish: Wish) -> None:
    try:
        resource = sandbox.kind_of(wish.document).resource
        if wish.deletes:
            await sandbox.client.delete(resource, Key.of(wish.document))
            return
        await apply(sandbox.client, resource, _of_now(sandbox, wish), wish.manner)
    except Unknown as error:
        raise Refused(f"{wish}: {error}") from None
    except ApiError as error:
        raise Refused(f"{wish} would be refused: {error}") from None


def _of_now(sandbox: Sandbox, wish: Wish) -> Document:
    """The wanted object without its resourceVersion. Raises Refused if that is an outdated one."""
    metadata = dict(wish.document["metadata"])
    given = metadata.pop("resourceVersion", None)
    now = sandbox.versions.get(sandbox.name_of(wish.document), "")
    if given is not None and given != now:
        raise Refused(
            f"{wish} would be refused: its resourceVersion is {given}, but the object has been "
            f"modified and is at {now} by now; read it again, or leave the resourceVersion out"
        )
    return {**wish.document, "metadata": metadata}
