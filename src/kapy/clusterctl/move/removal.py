"""Removes objects: from the source when the target has everything, or from the target in a
rollback."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.move.content import essence, movable
from kapy.clusterctl.move.copying import is_made, named, present, unfinalize
from kapy.clusterctl.move.journal import Journal
from kapy.clusterctl.move.kinds import MovedKinds
from kapy.clusterctl.move.log import Log
from kapy.clusterctl.move.plan import Plan, Planned, Way
from kapy.clusterctl.move.refusals import still_changing
from kapy.clusterctl.retry import retry
from kapy.kube import Document, Key
from kapy.kube.errors import Conflict, NotFound
from kapy.kube.names import Resource

DELETE_FOR_MOVE: Final = "clusterctl.cluster.x-k8s.io/delete-for-move"
"""Annotation that tells webhooks that a deletion is part of a move."""

_TRIES: Final = 20
"""How often an object may change during its removal."""

CopyAgain = Callable[[Planned, Document], Awaitable[None]]


async def remove_from_source(
    client: Client, plan: Plan, kinds: MovedKinds, copy_again: CopyAgain, tell: Log
) -> None:
    """Remove moved objects, dependents first. It can be repeated. Raises MoveError.

    copy_again: copies an object to the target that was written after its comparison.
    """
    remover = _Remover(client, kinds, copy_again, tell)
    for group in reversed(plan.groups()):
        moved = [one for one in group if one.way is Way.MOVED]
        await bounded_gather([partial(remover.remove, one) for one in moved])
    left = await present(client, plan.of(Way.MOVED))
    if left:
        raise MoveError(
            f"{named(sorted(left))} came back in the source after it was removed: a controller "
            "there works although the Clusters are paused; stop it, delete what it made, then go "
            "on with --resume"
        )


class _Remover:
    def __init__(self, client: Client, kinds: MovedKinds, copy_again: CopyAgain, tell: Log) -> None:
        self._client = client
        self._kinds = kinds
        self._copy_again = copy_again
        self._tell = tell

    async def remove(self, one: Planned) -> None:
        ref = one.ref
        self._tell(1, "Deleting", **{ref.kind: ref.name}, Namespace=ref.namespace)
        version = one.document["metadata"]["resourceVersion"]
        with suppress(NotFound):
            for _ in range(_TRIES):
                if await self._removed(one, version):
                    return
                version = await self._looked_at(one)
            raise still_changing([ref])

    async def _removed(self, one: Planned, version: str) -> bool:
        """Remove an object; False if it was written since that version."""

        async def work() -> bool:
            try:
                await force_delete(self._client, one.resource, one.ref.key, one.uid, version)
            except Conflict:
                return False
            return True

        return await retry(work)

    async def _looked_at(self, one: Planned) -> str:
        """The current version of an object that was written meanwhile, after its content was
        copied."""
        found = await retry(lambda: self._client.get(one.resource, one.ref.key))
        metadata = found["metadata"]
        if metadata["uid"] != one.uid:
            raise MoveError(
                f"{one.ref} was made again in the source while it was moved: a controller there "
                "works although the Clusters are paused; stop it, delete what it made, then go on "
                "with --resume"
            )
        kind = self._kinds.get(one.ref.group_kind)
        now = movable(found, status=kind is not None and kind.status)
        if _as_copied(now) != _as_copied(one.document):
            await self._copy_again(one, now)
        version: str = metadata["resourceVersion"]
        return version


async def undo_in_target(
    client: Client, journal: Journal, objects: Iterable[Planned], back: Plan | None, tell: Log
) -> None:
    """Restore the target's previous objects under these names. It can be repeated.

    back: the objects that were copied back to the source; None if nothing had left the source.
    """
    chosen = Plan(objects)
    found = await present(client, chosen.objects.values())
    for group in reversed(chosen.groups()):
        works = [
            partial(_undone, client, journal, one, found[one.ref], back, tell)
            for one in group
            if one.ref in found
        ]
        await bounded_gather(works)


async def force_delete(
    client: Client, resource: Resource, key: Key, uid: str, version: str
) -> None:
    """Delete an object without waiting for its finalizers.

    The finalizers are removed before the deletion, so that no controller ever sees the object being
    deleted and tears down the infrastructure behind it. Raises NotFound, and Conflict if the object
    has changed since that version.
    """
    metadata = {
        "resourceVersion": version,
        "annotations": {DELETE_FOR_MOVE: ""},
        "finalizers": None,
    }
    await client.patch(resource, key, {"metadata": metadata})
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
    left = await client.raw("DELETE", resource.path(key.namespace, key.name), body=options)
    if left.get("kind") != "Status" and left["metadata"].get("finalizers"):
        await unfinalize(client, resource, key)


async def _undone(
    client: Client,
    journal: Journal,
    one: Planned,
    found: Document,
    back: Plan | None,
    tell: Log,
) -> None:
    ref = one.ref
    prior = journal.state.prior.get(ref)
    if prior is not None:
        tell(1, "Restoring", **{ref.kind: ref.name}, Namespace=ref.namespace)
        await _restored(client, one, prior)
    elif is_made(journal, ref, found) or _followed(one, back):
        tell(1, "Deleting", **{ref.kind: ref.name}, Namespace=ref.namespace)
        await _deleted(client, one, found["metadata"]["uid"])


async def _deleted(client: Client, one: Planned, uid: str) -> None:
    async def work() -> None:
        found = await client.get(one.resource, one.ref.key)
        if found["metadata"]["uid"] == uid:
            version = found["metadata"]["resourceVersion"]
            await force_delete(client, one.resource, one.ref.key, uid, version)

    with suppress(NotFound):
        await retry(work)


def _followed(one: Planned, back: Plan | None) -> bool:
    """Whether the target's controllers created an object for the objects that were moved there."""
    return back is not None and one.way is Way.MOVED and one.ref in back.objects


async def _restored(client: Client, one: Planned, prior: Document) -> None:
    async def work() -> None:
        found = await client.get(one.resource, one.ref.key)
        metadata = {
            **prior["metadata"],
            "uid": found["metadata"]["uid"],
            "resourceVersion": found["metadata"]["resourceVersion"],
        }
        fields = metadata.pop("managedFields", None)
        await client.update(one.resource, {**prior, "metadata": metadata})
        if fields:
            patch = {"metadata": {"managedFields": fields}}
            await client.patch(one.resource, one.ref.key, patch)

    with suppress(NotFound):
        await retry(work)


def _as_copied(document: Document) -> Document:
    """The part of an object that is compared, without changes that its removal has begun to
    make."""
    known = essence(document)
    metadata = {**known["metadata"]}
    for name in ("finalizers", "deletionTimestamp", "deletionGracePeriodSeconds"):
        metadata.pop(name, None)
    annotations = {**metadata.pop("annotations", {})}
    annotations.pop(DELETE_FOR_MOVE, None)
    return {
        **known,
        "metadata": {**metadata, **({"annotations": annotations} if annotations else {})},
    }
