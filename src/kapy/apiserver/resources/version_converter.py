"""Conversion of objects between the versions of their kind: in process, or by a webhook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from kapy.apiserver.errors import ConversionFailed
from kapy.apiserver.resources.builtin.event_conversion import to_core, to_events_group
from kapy.apiserver.resources.custom import DEFINITIONS
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.registry import Registry
from kapy.apiserver.store.store import Store
from kapy.kube import Document
from kapy.kube.names import Resource, split_api_version

Convert = Callable[
    [Sequence[Document], str, Callable[[str], Document | None]], list[Document] | None
]
"""Converts objects of one kind to another `apiVersion` in process; returns None for other kinds.
The last argument looks up definitions by name.
"""


class ConversionWebhooks(Protocol):
    """The caller of conversion webhooks."""

    async def convert(
        self,
        conversion: Document,
        documents: Sequence[Document],
        source: Resource,
        target: Resource,
    ) -> list[Document]:
        """Convert objects by the webhook of `spec.conversion`. Raises ApiError."""


class VersionConverter:
    """The conversions of one server. convert: the in-process conversion, if there is one."""

    __slots__ = ("_convert", "_registry", "_store", "_webhooks")

    def __init__(
        self,
        store: Store,
        registry: Registry,
        convert: Convert | None,
        webhooks: ConversionWebhooks,
    ) -> None:
        self._store = store
        self._registry = registry
        self._convert = convert
        self._webhooks = webhooks

    async def to_version(
        self, documents: Sequence[Document], target: Resource
    ) -> Sequence[Document]:
        """Return stored objects in the requested version, whatever version each is stored in."""
        wanted = target.api_version
        if all(document["apiVersion"] == wanted for document in documents):
            return documents
        converted = list(documents)
        for stored in {document["apiVersion"] for document in documents} - {wanted}:
            group, version = split_api_version(stored)
            source = replace(target, group=group, version=version)
            indexes = [
                index for index, item in enumerate(documents) if item["apiVersion"] == stored
            ]
            chosen = [documents[index] for index in indexes]
            results = await self.convert_objects(chosen, source, target, stored=True)
            for index, document in zip(indexes, results, strict=True):
                converted[index] = document
        return converted

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
        kind = self._registry.find(target.group, target.version, target.plural)
        converted = None
        if self._convert is not None and source.group == target.group:
            converted = self._convert(documents, target.api_version, self.definition)
        conversion = None if source.group != target.group else self._conversion(source)
        if converted is None and conversion is None:
            return [_prune(kind, _set_type(document, target)) for document in documents]
        if converted is None and conversion is not None:
            inputs = (
                [_drop_resource_version(document) for document in documents]
                if stored
                else documents
            )
            converted = await self._webhooks.convert(conversion, inputs, source, target)
            if not stored:
                return converted
            pairs = zip(converted, documents, strict=True)
            converted = [_restore_resource_version(*pair) for pair in pairs]
        if converted is None:
            raise ConversionFailed(
                f"conversion of {source.group_resource} to {target.api_version} failed: "
                "this server has no conversion for it"
            )
        return [_prune(kind, document) for document in converted]

    def convert_in_process(self, document: Document, api_version: str) -> Document:
        """Convert an object for field ownership, which cannot await a webhook.

        Without an in-process conversion only its apiVersion changes. Raises ConversionFailed.
        """
        converted = None
        if self._convert is not None:
            converted = self._convert((document,), api_version, self.definition)
        return {**document, "apiVersion": api_version} if converted is None else converted[0]

    def definition(self, name: str) -> Document | None:
        """Return a CustomResourceDefinition by name. It is shared: do not change it."""
        table = self._store.peek(DEFINITIONS)
        return None if table is None else table.get("", name)

    def _conversion(self, resource: Resource) -> Document | None:
        """Return `spec.conversion` of a definition that uses a conversion webhook, else None."""
        definition = self.definition(resource.group_resource) or {}
        conversion: Document = definition.get("spec", {}).get("conversion") or {}
        return conversion if conversion.get("strategy") == "Webhook" else None


def _drop_resource_version(document: Document) -> Document:
    """Return an object without resourceVersion."""
    meta = {key: value for key, value in document["metadata"].items() if key != "resourceVersion"}
    return {**document, "metadata": meta}


def _restore_resource_version(document: Document, before: Document) -> Document:
    """Restore the resourceVersion of a converted object, and drop empty labels and annotations."""
    meta = {
        key: value
        for key, value in document["metadata"].items()
        if value or key not in ("labels", "annotations")
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
