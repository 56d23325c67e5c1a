"""A plug-in of one version, asked about writes in every other, as webhooks are (`Equivalent`).

The plug-in sees the object as it is stored, also when only its scale is written; what it fills in
is converted back to the version of the request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from msgspec import structs

from kapy.apiserver.admission import Admission, Review
from kapy.apiserver.refusals import StorageFailure
from kapy.kube import Document
from kapy.kube.names import Resource

Converter: TypeAlias = Callable[
    [Sequence[Document], Resource, Resource], Awaitable[Sequence[Document]]
]


class Equivalent:
    """`plugin`, which handles `stored`, for a resource of another version."""

    __slots__ = ("_converted", "_plugin", "_stored")

    def __init__(self, plugin: Admission, stored: Resource, converted: Converter) -> None:
        self._plugin = plugin
        self._stored = stored
        self._converted = converted

    def handles(self, resource: Resource, subresource: str) -> bool:
        """Whatever the version of `resource`: it is of the same kind."""
        stored = replace(self._stored, version=resource.version) == resource
        return stored and self._plugin.handles(self._stored, subresource)

    async def default(self, review: Review) -> Document:
        assert review.new is not None
        try:
            seen = await self._seen(review)
        except StorageFailure:
            # Its schema will say which field is wrong; if it does not, `validate` fails the same.
            return review.new
        assert seen.new is not None
        filled = await self._plugin.default(seen)
        if filled is seen.new:
            return review.new
        (document,) = await self._converted((filled,), self._stored, review.resource)
        # The identity and the ownership of fields are the request's, whatever a conversion makes.
        return {**document, "metadata": {**review.new["metadata"], **_annotated(document)}}

    async def validate(self, review: Review) -> Sequence[str]:
        return await self._plugin.validate(await self._seen(review))

    async def _seen(self, review: Review) -> Review:
        new, old = [await self._one(review, one) for one in (review.new, review.old)]
        return structs.replace(review, resource=self._stored, new=new, old=old)

    async def _one(self, review: Review, document: Document | None) -> Document | None:
        if document is None:
            return None
        (seen,) = await self._converted((document,), review.resource, self._stored)
        return seen


def _annotated(document: Document) -> Document:
    metadata = document["metadata"]
    return {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
