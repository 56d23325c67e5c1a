"""A typed copy of an object from its read to its write, like upstream's patch helper.

`Draft` keeps the document as it was read and a typed private copy to change. `save` writes the
difference only: metadata and spec in one merge patch, status in another, nothing if nothing
changed; fields that the Struct does not know are preserved. Lists with several writers (finalizers,
ownerReferences, conditions) are merged entry by entry: when the object has changed in between, the
draft is rebased on a fresh read and saved again.

Only a patch of such a list carries the resourceVersion that was read: all other patches are correct
whatever others write meanwhile, and must not fail because of it. Writers of this program are
serialized, and each starts from the state that the previous one wrote: a conflict is always with
another program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Generic, TypeVar

from kapy.client.client import Client
from kapy.engine.own_writes import OF_THIS_RECONCILE
from kapy.engine.reconcile_log import log_changes
from kapy.engine.store import is_gone, version_of
from kapy.engine.three_way_merge import three_way_merge, touches_shared_list
from kapy.kube import Document
from kapy.kube.errors import Conflict, NotFound
from kapy.kube.meta import Object, read
from kapy.kube.model import encode
from kapy.kube.patch.merge_patch import difference

O = TypeVar("O", bound=Object)  # noqa: E741

ATTEMPTS: Final = 5


class Draft(Generic[O]):
    """A typed object being reconciled.

    object: the private copy to change; `save` refreshes its fields in place. before: the shared
    document that it was last equal to. more_status: status fields that the Struct does not know and
    their wanted values; None removes a field.
    """

    __slots__ = ("_base", "_client", "_kind", "before", "more_status", "object")

    def __init__(self, client: Client, kind: type[O], document: Document) -> None:
        self.before = document
        self.object = read(document, kind)
        self.more_status: Document = {}
        self._base: O | None = None
        self._client = client
        self._kind = kind

    async def save(self) -> bool:
        """Write the changes (metadata and spec first, then status). Return True if anything was
        written.

        NotFound of an object that is being deleted (its last finalizer was just removed) is not an
        error. Raises Conflict if others change it faster than the draft can be rebased.
        """
        return await self._save(status=True)

    async def save_spec(self) -> bool:
        """Write metadata and spec only; status changes stay in the draft.

        It is for a status that refers to the generation which this write makes. Otherwise it works
        as `save`.
        """
        return await self._save(status=False)

    async def _save(self, *, status: bool) -> bool:
        try:
            main, rest = self.changes()
            wrote = bool(main)
            if main:
                old_status = self.before.get("status")
                await self._write("", main, rest=bool(rest))
                if is_gone(self.before):
                    return True
                if rest and status and self.before.get("status") != old_status:
                    _, rest = self.changes()
            if rest and status:
                await self._write("status", rest, rest=False)
                wrote = True
        except NotFound:
            if self.object.deleting:
                return False
            raise
        return wrote

    @property
    def is_clean(self) -> bool:
        """Whether nothing was changed since the last read or save."""
        return self._before_object() == self.object and not self._more_differences()

    def changes(self) -> tuple[Document, Document]:
        """Return the unsaved changes of metadata and spec, and those of the status; {} for none."""
        base = self._before_object()
        if base == self.object and not self.more_status:
            return {}, {}
        main = difference(encode(base), encode(self.object))
        status = (main.pop("status", None) or {}) | self._more_differences()
        return main, {"status": status} if status else {}

    def _more_differences(self) -> Document:
        """Return the changes of status fields that the Struct does not know."""
        if not self.more_status:
            return {}
        status = self.before.get("status") or {}
        was = {name: status[name] for name in self.more_status if name in status}
        return difference(
            was, {k: value for k, value in self.more_status.items() if value is not None}
        )

    def _before_object(self) -> O:
        """Return `before` as a Struct; it must not be changed."""
        if self._base is None:
            self._base = read(self.before, self._kind)
        return self._base

    async def _write(self, subresource: str, patch: Document, *, rest: bool) -> None:
        """Write one part of the object: metadata and spec, or a subresource. rest: whether the
        other part still has unsaved changes.
        """
        async with self._client.turns.of(self._kind.RESOURCE, self.object.key):
            if touches_shared_list(patch) and self._use_newest():
                patch = self.changes()[bool(subresource)]
            if patch:
                await self._send(subresource, patch, rest=rest)

    def _use_newest(self) -> bool:
        """Rebase on the newest state that this program knows; return False if `before` is the
        newest.
        """
        if self._client.newest is None:
            return False
        newest = self._client.newest(self._kind.RESOURCE, self.object.key)
        if newest is None or version_of(newest) <= version_of(self.before):
            return False
        if newest["metadata"].get("uid") != self.before["metadata"].get("uid"):
            return False
        self._rebase(newest, keep=None)
        return True

    async def _send(self, subresource: str, patch: Document, *, rest: bool) -> None:
        for attempt in range(ATTEMPTS):
            try:
                answer = await self._client.patch(
                    self._kind.RESOURCE,
                    self.object.key,
                    self._with_resource_version(patch),
                    subresource=subresource,
                )
            except Conflict as conflict:
                if attempt == ATTEMPTS - 1:
                    raise
                await self._reread(conflict)
                patch = self.changes()[bool(subresource)]
                if not patch:
                    return  # another writer has made the same change
            else:
                log_changes(self.before, answer)
                if (own := OF_THIS_RECONCILE.get(None)) is not None:
                    own.add(self.before, patch, answer)
                self._rebase(answer, keep=("status",) if rest else ())
                return

    def _with_resource_version(self, patch: Document) -> Document:
        if not touches_shared_list(patch):
            return patch
        version = self.before["metadata"]["resourceVersion"]
        return {**patch, "metadata": {**patch.get("metadata", {}), "resourceVersion": version}}

    async def _reread(self, conflict: Conflict) -> None:
        fresh = await self._client.get(self._kind.RESOURCE, self.object.key)
        if fresh["metadata"].get("uid") != self.before["metadata"].get("uid"):
            raise conflict  # the name belongs to another object by now
        self._rebase(fresh, keep=None)

    def _rebase(self, document: Document, *, keep: Sequence[str] | None) -> None:
        """Make `document` the new base.

        keep: the fields whose unsaved changes are carried over; None is all.
        """
        kind = self._kind
        theirs = read(document, kind)
        if keep and all(document.get(name) == self.before.get(name) for name in keep):
            for name in keep:  # preserved parts are unchanged
                setattr(theirs, name, getattr(self.object, name))
        elif keep is None or keep:
            base, ours = encode(self._before_object()), encode(self.object)
            if keep:
                base, ours = (
                    {name: item[name] for name in keep if name in item} for item in (base, ours)
                )
            theirs = read(three_way_merge(base, ours, encode(theirs)), kind)
        self.before = document
        self._base = None
        for field in theirs.__struct_fields__:
            setattr(self.object, field, getattr(theirs, field))
