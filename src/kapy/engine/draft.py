"""One object between being read and being written.

`Draft` keeps the document as it was read and a typed private copy to work on. `save` writes the
difference only: metadata and spec in one merge patch, status in another, nothing when nothing
changed; so fields that the Struct does not know survive. Lists that have several writers
(finalizers, ownerReferences, conditions) are merged entry by entry: when the object has changed
in between, the draft is rebased on a fresh read and tried again.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from kapy.client.client import Client
from kapy.kube import Document
from kapy.kube.meta import Object

O = TypeVar("O", bound=Object)  # noqa: E741


class Draft(Generic[O]):
    """A typed object being reconciled."""

    object: O
    before: Document

    def __init__(self, client: Client, kind: type[O], document: Document) -> None: ...

    async def save(self) -> bool:
        """Write what changed (metadata/spec first, then status). True if anything was written.

        NotFound of an object that is being deleted (its last finalizer was just removed by us)
        is not an error.
        """
        raise NotImplementedError
