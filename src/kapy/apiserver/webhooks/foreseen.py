"""What conversion webhooks answered, for code that cannot wait for them.

Ownership of fields is a pure function that has to see objects in the versions of their owners. It
is asked again until every conversion that it needs is known: usually once, as most objects are
written through one version only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import msgspec

from kapy.kube import Document

_encode = msgspec.json.Encoder().encode
_REMEMBERED: Final = 64
_MOST: Final = 32
"""Conversions that one write may need."""

Result = TypeVar("Result")


class Unforeseen(Exception):
    """A conversion is needed that nobody has asked the webhook for yet."""

    def __init__(self, conversions: Conversions, document: Document, version: str) -> None:
        super().__init__(version)
        self.conversions = conversions
        self.document = document
        self.version = version


class Conversions:
    """Known conversions of the objects of one kind."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, str], Document] = {}

    def __call__(self, document: Document, version: str) -> Document:
        """The object in another apiVersion. Raises Unforeseen."""
        found = self._known.get((_encode(document), version))
        if found is None:
            raise Unforeseen(self, document, version)
        return found

    def keep(self, document: Document, version: str, converted: Document) -> None:
        """Remember what the webhook said; the oldest are forgotten."""
        if len(self._known) >= _REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[_encode(document), version] = converted


async def foreseen(
    work: Callable[[], Awaitable[Result]], convert: Callable[[Document, str], Awaitable[Document]]
) -> Result:
    """What `work` gives, once all conversions that it needs are known."""
    for _ in range(_MOST):
        try:
            return await work()
        except Unforeseen as need:
            found = await convert(need.document, need.version)
            need.conversions.keep(need.document, need.version, found)
    return await work()
