"""Cached conversions for synchronous code that cannot await a webhook.

The tracking of field ownership is a pure function that needs objects in the versions of their
managers. It is retried until every conversion that it needs is cached. Most objects are written in
one version only, so it usually runs once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import msgspec

from kapy.kube import Document

_encode = msgspec.json.Encoder().encode
_REMEMBERED: Final = 64
_MOST: Final = 32
"""The most conversions that one write may need."""

Result = TypeVar("Result")


class ConversionNeeded(Exception):
    """A conversion is needed that is not cached yet."""

    def __init__(self, conversions: ConversionCache, document: Document, version: str) -> None:
        super().__init__(version)
        self.conversions = conversions
        self.document = document
        self.version = version


class ConversionCache:
    """The cached conversions of the objects of one kind."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, str], Document] = {}

    def __call__(self, document: Document, version: str) -> Document:
        """Return the object in another apiVersion. Raises ConversionNeeded."""
        result = self._known.get((_encode(document), version))
        if result is None:
            raise ConversionNeeded(self, document, version)
        return result

    def add(self, document: Document, version: str, converted: Document) -> None:
        """Cache a conversion; drop the oldest one if the cache is full."""
        if len(self._known) >= _REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[_encode(document), version] = converted


async def resolve_conversions(
    work: Callable[[], Awaitable[Result]], convert: Callable[[Document, str], Awaitable[Document]]
) -> Result:
    """Run `work`, converting objects as it needs them, until it succeeds; return its result."""
    for _ in range(_MOST):
        try:
            return await work()
        except ConversionNeeded as need:
            result = await convert(need.document, need.version)
            need.conversions.add(need.document, need.version, result)
    return await work()
