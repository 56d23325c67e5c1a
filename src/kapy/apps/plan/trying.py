"""Making a change in the sandbox as `kubectl apply` makes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.apps.plan.sandbox import Sandbox, Unknown
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, KapyError, NotFound
from kapy.kube.foreign_json import BadJson, decoded
from kapy.kube.names import CRDS, NAMESPACES, split_api_version

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True)
class Wish:
    """An object that somebody wants, and where it is written. deletes: it is to go."""

    document: Document
    source: str = ""
    deletes: bool = False

    def __str__(self) -> str:
        where = f" ({self.source})" if self.source else ""
        return f"{self.document.get('kind')} {Key.of(self.document)}{where}"


class Refused(KapyError):
    """An API server would not take an object; the message names it and says why."""


@dataclass(slots=True)
class Order:
    """Wishes in the order in which they can be granted: a Cluster is checked by its class, and a
    class by its templates."""

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
    """Make all of the changes, and let the controllers act on them.

    Raises Refused, and then nothing is known of the rest.
    """
    order = Order.of(wishes)
    await sandbox.define(one.document for one in order.definitions)
    await add_namespaces(sandbox, (one.document for one in (*order.others, *order.classes)))
    await add_namespaces(sandbox, (one.document for one in order.clusters))
    for step in (order.others, order.classes, order.clusters):
        for wish in step:
            await _grant(sandbox, wish)
        if step:
            await sandbox.settle()


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
        key = Key.of(wish.document)
        if wish.deletes:
            await sandbox.client.delete(resource, key)
            return
        try:
            live = await sandbox.client.get(resource, key)
        except NotFound:
            await sandbox.client.create(resource, wish.document)
            return
        wanted = _of_now(sandbox, wish)
        patch = three_way(last_applied(live), wanted, live)
        if patch:
            await sandbox.client.patch(resource, key, patch)
    except Unknown as error:
        raise Refused(f"{wish}: {error}") from None
    except ApiError as error:
        raise Refused(f"{wish} would be refused: {error}") from None


def _of_now(sandbox: Sandbox, wish: Wish) -> Document:
    """The wanted object without its resourceVersion. Raises Refused when that is an older one."""
    metadata = dict(wish.document["metadata"])
    given = metadata.pop("resourceVersion", None)
    now = sandbox.versions.get(sandbox.name_of(wish.document), "")
    if given is not None and given != now:
        raise Refused(
            f"{wish} would be refused: its resourceVersion is {given}, but the object has been "
            f"modified and is at {now} by now; read it again, or leave the resourceVersion out"
        )
    return {**wish.document, "metadata": metadata}


def last_applied(live: Document) -> Document:
    """What kubectl applied last, {} where nobody did."""
    text = (live["metadata"].get("annotations") or {}).get(LAST_APPLIED)
    if not text:
        return {}
    try:
        found = decoded(text)
    except BadJson:
        return {}
    if not isinstance(found, dict) or not isinstance(found.get("metadata"), dict):
        return {}
    found["metadata"].pop("resourceVersion", None)  # a condition, nothing that was wanted
    return found


def three_way(
    original: Mapping[str, Any], wanted: Mapping[str, Any], live: Mapping[str, Any]
) -> Document:
    """The merge patch with which kubectl applies objects of custom kinds: what is wanted and
    different, and None for what was applied once and is not wanted any more."""
    patch: Document = {}
    for name, value in wanted.items():
        if isinstance(value, dict) and isinstance(live.get(name), dict):
            before = original.get(name)
            inner = three_way(before if isinstance(before, dict) else {}, value, live[name])
            if inner:
                patch[name] = inner
        elif value is not None and live.get(name) != value:
            patch[name] = value
    for name in original:
        if name not in wanted and name in live:
            patch[name] = None
    return patch
