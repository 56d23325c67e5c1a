"""Removes objects of a move: from the source when the target has everything, or from the target in
a rollback.

Before a removal the objects of the other side are compared with the plan.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.move.checks import still_changing_error
from kapy.clusterctl.move.content import compared_content, differences, movable_content
from kapy.clusterctl.move.copying import (
    desired_object,
    existing_objects,
    is_created_by_move,
    names_of,
    unfinalize,
)
from kapy.clusterctl.move.graph import Ref
from kapy.clusterctl.move.journal import Journal
from kapy.clusterctl.move.kinds import MovedKinds
from kapy.clusterctl.move.log import Log
from kapy.clusterctl.move.plan import Plan, PlannedMove, Treatment
from kapy.clusterctl.retry import retry
from kapy.kube import Document, Key
from kapy.kube.errors import Conflict, NotFound
from kapy.kube.names import Resource

_MAX_SHOWN = 5

DELETE_FOR_MOVE: Final = "clusterctl.cluster.x-k8s.io/delete-for-move"
"""Annotation that tells webhooks that a deletion is part of a move."""
_MAX_ATTEMPTS: Final = 20
"""How often an object may change during its removal."""
_CopyAgain = Callable[[PlannedMove, Document], Awaitable[None]]


async def verify(client: Client, plan: Plan, *, updated: bool = True) -> None:
    """Raises MoveError unless a side has every object of a plan, with its owners and content.

    Additions by the side's defaults and webhooks are accepted. updated: False if objects that
    existed before were not updated.
    """
    there = await existing_objects(client, plan.objects.values())
    problems = [
        problem
        for planned in plan.objects.values()
        for problem in _problems(
            planned, there, content=updated and planned.way is not Treatment.SHARED
        )
    ]
    if problems:
        more = len(problems) - _MAX_SHOWN
        raise MoveError(
            "the other side does not have what was written to it: "
            f"{'; '.join(problems[:_MAX_SHOWN])}"
            + (f"; and {more} more" if more > 0 else "")
            + ". Nothing was removed: see who changes them there (an older definition or a webhook "
            "of its provider), then go on with --resume, or undo the move with --rollback"
        )


def _problems(
    planned: PlannedMove, existing: Mapping[Ref, Document], *, content: bool
) -> Iterator[str]:
    result = existing.get(planned.ref)
    if result is None:
        yield f"{planned.ref} is not there"
        return
    if not content or any(ref not in existing for ref, _ in planned.owners):
        return
    paths = list(islice(differences(desired_object(planned, existing), result), 3))
    if paths:
        yield f"{planned.ref} differs in {', '.join(paths)}"


async def remove_from_source(
    client: Client, plan: Plan, kinds: MovedKinds, copy_again: _CopyAgain, log: Log
) -> None:
    """Remove moved objects, dependents first. It can be repeated. Raises MoveError.

    copy_again: copies an object to the target that was written after its comparison.
    """
    remover = _Remover(client, kinds, copy_again, log)
    for group in reversed(plan.groups()):
        moved = [planned for planned in group if planned.way is Treatment.MOVED]
        await bounded_gather([partial(remover.remove, planned) for planned in moved])
    rest = await existing_objects(client, plan.of(Treatment.MOVED))
    if rest:
        raise MoveError(
            f"{names_of(sorted(rest))} came back in the source after it was removed: a controller "
            "there works although the Clusters are paused; stop it, delete what it made, then go "
            "on with --resume"
        )


class _Remover:
    def __init__(self, client: Client, kinds: MovedKinds, copy_again: _CopyAgain, log: Log) -> None:
        self._client = client
        self._kinds = kinds
        self._copy_again = copy_again
        self._tell = log

    async def remove(self, planned: PlannedMove) -> None:
        ref = planned.ref
        self._tell(1, "Deleting", **{ref.kind: ref.name}, Namespace=ref.namespace)
        version = planned.document["metadata"]["resourceVersion"]
        with suppress(NotFound):
            for _ in range(_MAX_ATTEMPTS):
                if await self._try_remove(planned, version):
                    return
                version = await self._current_version(planned)
            raise still_changing_error([ref])

    async def _try_remove(self, planned: PlannedMove, version: str) -> bool:
        """Remove an object; False if it was written since that version."""

        async def work() -> bool:
            try:
                await _force_delete(
                    self._client, planned.resource, planned.ref.key, planned.uid, version
                )
            except Conflict:
                return False
            return True

        return await retry(work)

    async def _current_version(self, planned: PlannedMove) -> str:
        """Return the current version of an object that was written meanwhile, after its content was
        copied.
        """
        result = await retry(lambda: self._client.get(planned.resource, planned.ref.key))
        metadata = result["metadata"]
        if metadata["uid"] != planned.uid:
            raise MoveError(
                f"{planned.ref} was made again in the source while it was moved: a controller "
                "there "
                "works although the Clusters are paused; stop it, delete what it made, then go on "
                "with --resume"
            )
        kind = self._kinds.get(planned.ref.group_kind)
        now = movable_content(result, status=kind is not None and kind.status)
        if _copied_form(now) != _copied_form(planned.document):
            await self._copy_again(planned, now)
        version: str = metadata["resourceVersion"]
        return version


async def undo_in_target(
    client: Client, journal: Journal, objects: Iterable[PlannedMove], back: Plan | None, log: Log
) -> None:
    """Restore the target's previous objects under these names. It can be repeated.

    back: the objects that were copied back to the source; None if nothing had left the source.
    """
    chosen = Plan(objects)
    results = await existing_objects(client, chosen.objects.values())
    for group in reversed(chosen.groups()):
        works = [
            partial(_undo, client, journal, planned, results[planned.ref], back, log)
            for planned in group
            if planned.ref in results
        ]
        await bounded_gather(works)


async def _force_delete(
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
    answer = await client.raw("DELETE", resource.path(key.namespace, key.name), body=options)
    if answer.get("kind") != "Status" and answer["metadata"].get("finalizers"):
        await unfinalize(client, resource, key)


async def _undo(
    client: Client,
    journal: Journal,
    planned: PlannedMove,
    document: Document,
    back: Plan | None,
    log: Log,
) -> None:
    ref = planned.ref
    prior = journal.state.prior.get(ref)
    if prior is not None:
        log(1, "Restoring", **{ref.kind: ref.name}, Namespace=ref.namespace)
        await _restore(client, planned, prior)
    elif is_created_by_move(journal, ref, document) or _has_followed(planned, back):
        log(1, "Deleting", **{ref.kind: ref.name}, Namespace=ref.namespace)
        await _delete(client, planned, document["metadata"]["uid"])


async def _delete(client: Client, planned: PlannedMove, uid: str) -> None:
    async def work() -> None:
        result = await client.get(planned.resource, planned.ref.key)
        if result["metadata"]["uid"] == uid:
            version = result["metadata"]["resourceVersion"]
            await _force_delete(client, planned.resource, planned.ref.key, uid, version)

    with suppress(NotFound):
        await retry(work)


def _has_followed(planned: PlannedMove, back: Plan | None) -> bool:
    """Return whether the target's controllers created an object for the objects that were moved
    there.
    """
    return back is not None and planned.way is Treatment.MOVED and planned.ref in back.objects


async def _restore(client: Client, planned: PlannedMove, prior: Document) -> None:
    async def work() -> None:
        result = await client.get(planned.resource, planned.ref.key)
        metadata = {
            **prior["metadata"],
            "uid": result["metadata"]["uid"],
            "resourceVersion": result["metadata"]["resourceVersion"],
        }
        fields = metadata.pop("managedFields", None)
        await client.update(planned.resource, {**prior, "metadata": metadata})
        if fields:
            patch = {"metadata": {"managedFields": fields}}
            await client.patch(planned.resource, planned.ref.key, patch)

    with suppress(NotFound):
        await retry(work)


def _copied_form(document: Document) -> Document:
    """Return the part of an object that is compared, without changes that its removal has begun to
    make.
    """
    content = compared_content(document)
    metadata = {**content["metadata"]}
    for name in ("finalizers", "deletionTimestamp", "deletionGracePeriodSeconds"):
        metadata.pop(name, None)
    annotations = {**metadata.pop("annotations", {})}
    annotations.pop(DELETE_FOR_MOVE, None)
    return {
        **content,
        "metadata": {**metadata, **({"annotations": annotations} if annotations else {})},
    }
