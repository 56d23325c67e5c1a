"""One object between being read and being written.

`Draft` keeps the document as it was read and a typed private copy to work on. `save` writes the
difference only: metadata and spec in one merge patch, status in another, nothing when nothing
changed; so fields that the Struct does not know survive. Lists that have several writers
(finalizers, ownerReferences, conditions) are merged entry by entry: when the object has changed
in between, the draft is rebased on a fresh read and tried again.

Only a patch of such a list carries the resourceVersion that was read: everything else is correct
whatever others write meanwhile, and must not fail because of it.
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from kapy.client.client import Client
from kapy.engine.rebase import rebased, touches_shared_list
from kapy.engine.store import is_gone
from kapy.kube import Document
from kapy.kube.errors import Conflict, NotFound
from kapy.kube.meta import Object, read
from kapy.kube.model import encode
from kapy.kube.patch.merge_patch import difference

O = TypeVar("O", bound=Object)  # noqa: E741

ATTEMPTS: Final = 5


class Draft(Generic[O]):
    """A typed object being reconciled.

    object: the private copy to change; it stays the same Python object over a `save`, which
    refreshes its fields. before: the shared document that it was last equal to.
    """

    __slots__ = ("_client", "_kind", "before", "object")

    def __init__(self, client: Client, kind: type[O], document: Document) -> None:
        self.before = document
        self.object = read(document, kind)
        self._client = client
        self._kind = kind

    async def save(self) -> bool:
        """Write what changed (metadata/spec first, then status). True if anything was written.

        NotFound of an object that is being deleted (its last finalizer was just removed by us)
        is not an error. Raises Conflict when others keep changing it faster than we can follow.
        """
        try:
            wrote = await self._save_part("")
            if wrote and is_gone(self.before):
                return True
            return await self._save_part("status") or wrote
        except NotFound:
            if self.object.deleting:
                return False
            raise

    async def _save_part(self, subresource: str) -> bool:
        for attempt in range(ATTEMPTS):
            patch = self._patch(subresource)
            if not patch:
                return False
            try:
                answer = await self._client.patch(
                    self._kind.RESOURCE, self.object.key, patch, subresource=subresource
                )
            except Conflict as conflict:
                if attempt == ATTEMPTS - 1:
                    raise
                await self._reread(conflict)
            else:
                self._rebase(answer, subresource)
                return True
        return False

    def _patch(self, subresource: str) -> Document:
        base, ours = encode(read(self.before, self._kind)), encode(self.object)
        if subresource:
            patch = difference(base.get("status") or {}, ours.get("status") or {})
            patch = {"status": patch} if patch else {}
        else:
            base.pop("status", None)
            ours.pop("status", None)
            patch = difference(base, ours)
        if patch and touches_shared_list(patch):
            version = self.before["metadata"]["resourceVersion"]
            patch["metadata"] = {**patch.get("metadata", {}), "resourceVersion": version}
        return patch

    async def _reread(self, conflict: Conflict) -> None:
        fresh = await self._client.get(self._kind.RESOURCE, self.object.key)
        if fresh["metadata"].get("uid") != self.before["metadata"].get("uid"):
            raise conflict  # the name belongs to another object by now
        self._rebase(fresh, None)

    def _rebase(self, answer: Document, saved: str | None) -> None:
        """Stand on `answer`, keeping the changes that are not in it yet.

        saved: the subresource whose changes `answer` holds already ("" for metadata and spec).
        """
        kind = self._kind
        base, ours = encode(read(self.before, kind)), encode(self.object)
        theirs = read(answer, kind)
        if saved is not None:
            for part in (base, ours):
                for name in [one for one in part if (one == "status") == (saved == "status")]:
                    del part[name]
        if base != ours:
            theirs = read(rebased(base, ours, encode(theirs)), kind)
        self.before = answer
        for field in theirs.__struct_fields__:
            setattr(self.object, field, getattr(theirs, field))
