"""The admission plug-ins of one server, in order: those in process, then the webhooks.

A plug-in for one version also handles the other versions (`Equivalent`). Like a webhook with
matchPolicy Equivalent, it sees the object in its own version, also for a write of the scale
subresource. Its defaults are converted back to the version of the request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from msgspec import structs

from kapy.apiserver.admission.plugin import Admission, Review
from kapy.apiserver.errors import StorageFailure
from kapy.apiserver.resources.kind import Kind
from kapy.kube import Document
from kapy.kube.names import Resource

Converter: TypeAlias = Callable[
    [Sequence[Document], Resource, Resource], Awaitable[Sequence[Document]]
]


class Equivalent:
    """A plug-in for the version `stored`, applied to another version of the resource."""

    __slots__ = ("_converted", "_plugin", "_stored")

    def __init__(self, plugin: Admission, stored: Resource, converted: Converter) -> None:
        self._plugin = plugin
        self._stored = stored
        self._converted = converted

    def handles(self, resource: Resource, subresource: str) -> bool:
        """Report whether `resource` is a version of the kind that the plug-in handles."""
        stored = replace(self._stored, version=resource.version) == resource
        return stored and self._plugin.handles(self._stored, subresource)

    async def default(self, review: Review) -> Document:
        assert review.new is not None
        try:
            converted = await self._convert_review(review)
        except StorageFailure:
            # Validation reports the wrong field by the schema, or `validate` fails the same way.
            return review.new
        assert converted.new is not None
        filled = await self._plugin.default(converted)
        if filled is converted.new:
            return review.new
        (document,) = await self._converted((filled,), self._stored, review.resource)
        # Identity and managedFields stay those of the request.
        return {**document, "metadata": {**review.new["metadata"], **_keep_annotations(document)}}

    async def validate(self, review: Review) -> Sequence[str]:
        return await self._plugin.validate(await self._convert_review(review))

    async def _convert_review(self, review: Review) -> Review:
        new, old = [await self._convert(review, item) for item in (review.new, review.old)]
        return structs.replace(review, resource=self._stored, new=new, old=old)

    async def _convert(self, review: Review, document: Document | None) -> Document | None:
        if document is None:
            return None
        (converted,) = await self._converted((document,), review.resource, self._stored)
        return converted


def _keep_annotations(document: Document) -> Document:
    metadata = document["metadata"]
    return {key: metadata[key] for key in ("labels", "annotations") if key in metadata}


class AdmissionChain:
    """The plug-ins of one server, selected by kind and subresource.

    convert: converts objects for plug-ins that handle another version of their kind.
    has_webhooks: whether admission webhooks are configured. by_resource: the selected plug-ins.
    """

    __slots__ = ("_convert", "_in_process", "_webhooks", "by_resource", "has_webhooks")

    def __init__(self, in_process: Sequence[Admission], convert: Converter) -> None:
        self._in_process = tuple(in_process)
        self._convert = convert
        self._webhooks: Admission | None = None
        self.has_webhooks = False
        self.by_resource: dict[tuple[Kind, str], tuple[Admission, ...]] = {}

    def set_webhooks(self, webhooks: Admission | None) -> None:
        """Replace the webhooks, the last plug-in of the chain. None: there are none."""
        self._webhooks = webhooks
        self.has_webhooks = webhooks is not None
        self.by_resource.clear()

    def reset(self) -> None:
        """Select the plug-ins again, because the served kinds have changed."""
        self.by_resource.clear()

    def plugins(self, kind: Kind, subresource: str) -> tuple[Admission, ...]:
        """Return the plug-ins that handle writes of a resource."""
        if not self._in_process and self._webhooks is None:
            return ()
        key = (kind, subresource)
        selected = self.by_resource.get(key)
        if selected is None:
            selected = self.by_resource[key] = tuple(self._select(kind, subresource))
        return selected

    def _select(self, kind: Kind, subresource: str) -> Iterator[Admission]:
        for plugin in self._in_process:
            if plugin.handles(kind.resource, subresource):
                yield plugin
            elif kind.storage != kind.resource and plugin.handles(kind.storage, subresource):
                yield Equivalent(plugin, kind.storage, self._convert)
        webhooks = self._webhooks  # webhooks select versions themselves
        if webhooks is not None and webhooks.handles(kind.resource, subresource):
            yield webhooks
