"""The components of one server that its verbs use."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kapy._aio.clock import Clock
from kapy.apiserver.admission.equivalent import Equivalent
from kapy.apiserver.admission.plugin import Admission
from kapy.apiserver.errors import ConversionFailed
from kapy.apiserver.flow_control.large_requests import LargeRequestQueue
from kapy.apiserver.metrics.counters import ServerMetrics
from kapy.apiserver.resources.builtin.event_conversion import to_core, to_events_group
from kapy.apiserver.resources.custom import DEFINITIONS
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.registry import Registry, builtin_registry
from kapy.apiserver.store.store import Store
from kapy.apiserver.store.table import Table
from kapy.apiserver.verbs.undefaulted import UndefaultedObjects
from kapy.kube import Document
from kapy.kube.names import Resource, split_api_version

if TYPE_CHECKING:
    from kapy.apiserver.auth.authorization import Authorizer
    from kapy.apiserver.webhooks.webhook_source import WebhookSource

Convert = Callable[
    [Sequence[Document], str, Callable[[str], Document | None]], list[Document] | None
]
"""Converts objects of one kind to another `apiVersion` in process; returns None for other kinds.
The last argument looks up definitions by name.
"""


@dataclass(slots=True, eq=False)
class ServerContext:
    """Store, kinds, clock, admission and conversion of one server.

    webhooks: whether admission webhooks exist; they are the last of `admission`. following: keeps
    them up to date, and calls conversion webhooks. kubelets: a deleted pod waits for its node's
    kubelet. authorize: the authorizer, None before one is set. traffic: request metrics. large:
    threads for large requests. unfilled: objects stored with defaults that kube-apiserver would not
    have stored.
    """

    store: Store
    clock: Clock
    admission: tuple[Admission, ...] = ()
    convert: Convert | None = None
    registry: Registry = field(default_factory=builtin_registry)
    rng: random.Random = field(default_factory=random.Random)
    plugins_by_resource: dict[tuple[Kind, str], tuple[Admission, ...]] = field(default_factory=dict)
    has_webhooks: bool = False
    webhook_source: WebhookSource | None = None
    has_kubelets: bool = True
    authorize: Authorizer | None = None
    metrics: ServerMetrics = field(default_factory=ServerMetrics)
    large_work: LargeRequestQueue = field(default_factory=LargeRequestQueue)
    undefaulted: UndefaultedObjects = field(default_factory=UndefaultedObjects)

    def table(self, kind: Kind) -> Table:
        """Return the table of a kind."""
        return self.store.table(kind.table)

    def admission_plugins(self, kind: Kind, subresource: str) -> tuple[Admission, ...]:
        """Return the admission plug-ins that handle writes of a resource."""
        if not self.admission:
            return ()
        key = (kind, subresource)
        found = self.plugins_by_resource.get(key)
        if found is None:
            found = self.plugins_by_resource[key] = tuple(self._select_plugins(kind, subresource))
        return found

    def _select_plugins(self, kind: Kind, subresource: str) -> Iterator[Admission]:
        webhooks = self.admission[-1] if self.has_webhooks else None
        for one in self.admission:
            if one.handles(kind.resource, subresource):
                yield one
            elif one is webhooks or kind.storage == kind.resource:
                continue  # webhooks select versions themselves
            elif one.handles(kind.storage, subresource):
                yield Equivalent(one, kind.storage, self.convert_objects)

    async def to_version(
        self, documents: Sequence[Document], target: Resource
    ) -> Sequence[Document]:
        """Return stored objects in the requested version, whatever version each is stored in."""
        wanted = target.api_version
        if all(one["apiVersion"] == wanted for one in documents):
            return documents
        shown = list(documents)
        for stored in {one["apiVersion"] for one in documents} - {wanted}:
            group, version = split_api_version(stored)
            source = replace(target, group=group, version=version)
            places = [at for at, one in enumerate(documents) if one["apiVersion"] == stored]
            chosen = [documents[at] for at in places]
            found = await self.convert_objects(chosen, source, target, stored=True)
            for at, one in zip(places, found, strict=True):
                shown[at] = one
        return shown

    async def convert_objects(
        self,
        documents: Sequence[Document],
        source: Resource,
        target: Resource,
        *,
        stored: bool = False,
    ) -> Sequence[Document]:
        """Convert objects to another version of their kind (the same version returns them as is).

        stored: the conversion is from or to storage. Webhooks then see no resourceVersion, and
        their result is pruned by the schema; otherwise it is used unchanged.
        """
        if source == target or not documents:
            return documents
        kind = self.registry.find(target.group, target.version, target.plural)
        found = None
        if self.convert is not None and source.group == target.group:
            found = self.convert(documents, target.api_version, self.definition)
        hook = None if source.group != target.group else self._conversion(source)
        if found is None and hook is None:
            return [_prune(kind, _set_type(one, target)) for one in documents]
        if found is None and hook is not None and self.webhook_source is not None:
            given = [_drop_resource_version(one) for one in documents] if stored else documents
            found = await self.webhook_source.convert(hook, given, source, target)
            if not stored:
                return found
            found = [
                _restore_resource_version(*pair) for pair in zip(found, documents, strict=True)
            ]
        if found is None:
            raise ConversionFailed(
                f"conversion of {source.group_resource} to {target.api_version} failed: "
                "this server has no conversion for it"
            )
        return [_prune(kind, one) for one in found]

    def convert_in_process(self, document: Document, api_version: str) -> Document:
        """Convert an object for field ownership, which cannot await a webhook.

        Without an in-process conversion only its apiVersion changes. Raises ConversionFailed.
        """
        found = None
        if self.convert is not None:
            found = self.convert((document,), api_version, self.definition)
        return {**document, "apiVersion": api_version} if found is None else found[0]

    def definition(self, name: str) -> Document | None:
        """Return a CustomResourceDefinition by name. It is shared: do not change it."""
        table = self.store.peek(DEFINITIONS)
        return None if table is None else table.get("", name)

    def _conversion(self, resource: Resource) -> Document | None:
        """Return `spec.conversion` of a definition that uses a conversion webhook, else None."""
        definition = self.definition(resource.group_resource) or {}
        found: Document = definition.get("spec", {}).get("conversion") or {}
        return found if found.get("strategy") == "Webhook" else None


def _drop_resource_version(document: Document) -> Document:
    """Return an object without resourceVersion."""
    meta = {key: one for key, one in document["metadata"].items() if key != "resourceVersion"}
    return {**document, "metadata": meta}


def _restore_resource_version(document: Document, before: Document) -> Document:
    """Restore the resourceVersion of a converted object, and drop empty labels and annotations."""
    meta = {
        key: one
        for key, one in document["metadata"].items()
        if one or key not in ("labels", "annotations")
    }
    if "resourceVersion" in before["metadata"]:
        meta["resourceVersion"] = before["metadata"]["resourceVersion"]
    return {**document, "metadata": meta}


def _prune(kind: Kind | None, document: Document) -> Document:
    """Prune an object by the schema of its version."""
    return document if kind is None else kind.schema.prune(document)


def _set_type(document: Document, target: Resource) -> Document:
    if target.kind == "Event" and target.group in ("", "events.k8s.io"):
        return to_core(document) if not target.group else to_events_group(document)
    return {**document, "apiVersion": target.api_version, "kind": target.kind}
