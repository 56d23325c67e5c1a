"""Writes the objects of a plan to the other side, owners first.

An existing object is updated unless it is shared; its previous content is recorded in the journal
first. The journal knows the UID of each object that this move created. Until the UID is recorded,
the field manager identifies such an object. So after a lost answer or a crash no object is created
twice, and a rollback only deletes the move's own objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.move.content import content_to_create, movable_content
from kapy.clusterctl.move.graph import Ref
from kapy.clusterctl.move.journal import Journal, ObjectCreated, PriorState
from kapy.clusterctl.move.log import Log
from kapy.clusterctl.move.plan import Plan, PlannedMove, Treatment
from kapy.clusterctl.retry import retry
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, Forbidden, KapyError, NotFound
from kapy.kube.names import NAMESPACES, Resource

_SKIPPED: Final = (
    "Object already exists, skipping upgrade because it is global/it is owned by a global object"
)
_SKIPPED_FROM_DIRECTORY: Final = "Object already exists, skipping moving from directory"
_MAX_REPORTED: Final = 5
"""The maximum number of objects that an error names; the others are counted."""


class ObjectCopier:
    """Writes the objects of plans to one side of a move.

    restorable: this side is the target, so its previous content is recorded in the journal.
    updates: existing objects are updated.
    """

    def __init__(
        self,
        client: Client,
        journal: Journal,
        log: Log,
        *,
        restorable: bool = True,
        updates: bool = True,
    ) -> None:
        self._journal = journal
        self._client = client
        self._writing = Client(client.transport, field_manager=journal.mark)
        self._tell = log
        self._restorable = restorable
        self._updates = updates
        self._verb = "Creating" if updates else "Restoring"
        self._found: dict[Ref, Document] = {}
        self._namespaces: set[str] = set()

    async def run(self, plan: Plan) -> None:
        """Write the objects of a plan. This can be repeated. Raises MoveError, ApiErrors and
        Unreachable.
        """
        self._found = dict(await existing_objects(self._client, plan.objects.values()))
        for group in plan.groups():
            await self.write(group)

    async def again(self, planned: PlannedMove, owners: Iterable[PlannedMove]) -> None:
        """Write an object whose owners exist."""
        self._found = dict(await existing_objects(self._client, [planned, *owners]))
        await self.write([planned])

    async def write(self, group: Iterable[PlannedMove]) -> None:
        """Write objects whose owners exist."""
        objects = {planned.ref: planned for planned in group}
        for ref in objects:
            self._tell(1, self._verb, **{ref.kind: ref.name}, Namespace=ref.namespace)
        await self._ensure_namespaces({ref.namespace for ref in objects})
        self._note_prior(planned for ref, planned in objects.items() if ref in self._found)
        written = await bounded_gather(
            [partial(self._write, planned) for planned in objects.values()]
        )
        if self._restorable:
            result = [(ref, uid) for ref, uid, ours in written if ours]
            new = tuple(
                planned
                for planned in result
                if planned not in self._journal.state.created_uids.items()
            )
            self._journal.write(*[ObjectCreated(new)] if new else [])
        await bounded_gather(
            [
                partial(self._restore_owners_of_fields, planned)
                for ref, planned in objects.items()
                if with_move_mark(self._journal, self._found[ref])
            ]
        )

    def _note_prior(self, objects: Iterable[PlannedMove]) -> None:
        """Record in the journal the objects that will be updated and that this move did not
        create."""
        if not self._restorable or not self._updates:
            return
        self._journal.write(
            *(
                PriorState(planned.ref, self._found[planned.ref])
                for planned in objects
                if planned.way is not Treatment.SHARED
                and planned.ref not in self._journal.state.prior
                and not is_created_by_move(self._journal, planned.ref, self._found[planned.ref])
            )
        )

    async def _write(self, planned: PlannedMove) -> tuple[Ref, str, bool]:
        """Write an object; returns its reference, its UID, and whether this move created it."""
        deletion, new = self._found.get(planned.ref), False
        if deletion is not None and deletion["metadata"].get("deletionTimestamp"):
            deletion = await self._after_deletion(planned)
        if deletion is None:
            deletion, new = await self._create(planned)
        ours = is_created_by_move(self._journal, planned.ref, deletion)
        if not ours and (planned.way is Treatment.SHARED or not self._updates):
            self._log(planned, _SKIPPED if self._updates else _SKIPPED_FROM_DIRECTORY)
        elif not new and _differs(self._desired_object(planned), deletion):
            self._log(planned, "Object already exists, updating")
            deletion = await self._update(planned)
        self._found[planned.ref] = deletion
        return planned.ref, deletion["metadata"]["uid"], ours

    def _log(self, planned: PlannedMove, message: str) -> None:
        self._tell(
            5, message, **{planned.ref.kind: planned.ref.name}, Namespace=planned.ref.namespace
        )

    async def _create(self, planned: PlannedMove) -> tuple[Document, bool]:
        """Create the object; the second value is False if it existed already."""
        wanted = self._desired_object(planned)
        try:
            return await retry(lambda: self._writing.create(planned.resource, wanted)), True
        except AlreadyExists:
            result = await retry(lambda: self._client.get(planned.resource, planned.ref.key))
            self._found[planned.ref] = result
            self._note_prior([planned])
            return result, False
        except NotFound as error:
            raise MoveError(f"cannot create {planned.ref}: {error}") from None

    async def _update(self, planned: PlannedMove) -> Document:
        """Update the object to the content of the other side, with retries after concurrent
        writes."""

        async def work() -> Document:
            result = await self._client.get(planned.resource, planned.ref.key)
            wanted = self._desired_object(planned)
            identity = {name: result["metadata"][name] for name in ("uid", "resourceVersion")}
            document = {**wanted, "metadata": {**wanted["metadata"], **identity}}
            if "status" in result and "status" not in document:
                document["status"] = result["status"]
            return await self._writing.update(planned.resource, document)

        return await retry(work)

    async def _after_deletion(self, planned: PlannedMove) -> Document | None:
        """Finish a deletion that this move began; refuse to recreate an object that others
        delete."""
        if self._restorable:
            raise MoveError(
                f"{planned.ref} is being deleted in the target; wait until it is gone (`kubectl "
                "get` "
                "shows its finalizers), then go on with --resume"
            )
        await unfinalize(self._client, planned.resource, planned.ref.key)
        with suppress(NotFound):
            return await retry(lambda: self._client.get(planned.resource, planned.ref.key))
        return None

    async def _restore_owners_of_fields(self, planned: PlannedMove) -> None:
        """Restore the managed fields: otherwise their former managers could not remove these
        fields."""
        fields = planned.document["metadata"].get("managedFields")
        if fields:
            patch = {"metadata": {"managedFields": fields}}
            await retry(lambda: self._client.patch(planned.resource, planned.ref.key, patch))

    def _desired_object(self, planned: PlannedMove) -> Document:
        return desired_object(planned, self._found)

    async def _ensure_namespaces(self, names: set[str]) -> None:
        for name in sorted(names - self._namespaces - {""}):
            await _ensure_namespace(self._client, name, self._tell)
            self._namespaces.add(name)


def desired_object(planned: PlannedMove, existing: Mapping[Ref, Document]) -> Document:
    """Return a planned object as it should be on the other side. existing: the UIDs of its owners
    on that side.
    """
    owners = [
        {**reference, "uid": existing[ref]["metadata"]["uid"]} for ref, reference in planned.owners
    ]
    return content_to_create(planned.document, owners)


async def existing_objects(
    client: Client, objects: Iterable[PlannedMove]
) -> Mapping[Ref, Document]:
    """Return the existing objects on a side that have the names of planned ones. Raises MoveError
    for unknown kinds.

    It sends one request for each kind and namespace, not for each object.
    """
    planned = {obj.ref: obj for obj in objects}
    places = {
        (planned_move.resource, planned_move.ref.namespace): planned_move
        for planned_move in planned.values()
    }

    async def read(at: PlannedMove) -> list[tuple[Ref, Document]]:
        documents = await _list(client, at.resource, at.ref.namespace)
        return [
            (at.ref._replace(name=document["metadata"]["name"]), document) for document in documents
        ]

    gather = await bounded_gather([partial(read, at) for at in places.values()])
    return {ref: document for part in gather for ref, document in part if ref in planned}


def is_created_by_move(journal: Journal, ref: Ref, document: Document) -> bool:
    """Return whether the move created this object in its target."""
    if ref in journal.state.prior:
        return False
    uid = journal.state.created_uids.get(ref)
    return document["metadata"]["uid"] == uid if uid else with_move_mark(journal, document)


def _differs(desired: Document, current: Document) -> bool:
    """Return whether an object differs from its desired content, including fields to be removed."""
    owners = current["metadata"].get("ownerReferences") or ()
    now = content_to_create(current, owners)
    return desired != movable_content(now, status="status" not in desired)


def with_move_mark(journal: Journal, document: Document) -> bool:
    """Return whether the managed fields name this move as a field manager."""
    entries = document["metadata"].get("managedFields") or ()
    return any(entry.get("manager") == journal.mark for entry in entries)


async def unfinalize(client: Client, resource: Resource, key: Key) -> None:
    """Remove the finalizers of an object that is being deleted."""
    with suppress(NotFound):
        patch: Document = {"metadata": {"finalizers": None}}
        await retry(lambda: client.patch(resource, key, patch))


def names_of(refs: Iterable[object]) -> str:
    """Some names, and how many more there are."""
    names = [str(ref) for ref in refs]
    more = len(names) - _MAX_REPORTED
    return ", ".join(names[:_MAX_REPORTED]) + (f" and {more} more" if more > 0 else "")


async def _list(client: Client, resource: Resource, namespace: str) -> Iterable[Document]:
    try:
        return (await retry(lambda: client.list(resource, namespace))).items
    except NotFound:
        raise MoveError(
            f"the other cluster does not serve {resource.kind} in version "
            f"{resource.api_version}; install its provider there with `init`"
        ) from None


async def _ensure_namespace(client: Client, name: str, log: Log) -> None:
    try:
        await retry(lambda: client.get(NAMESPACES, Key("", name)))
    except NotFound:
        log(1, "Creating", Namespace=name)
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        with suppress(AlreadyExists):
            await retry(lambda: client.create(NAMESPACES, document))
    except Forbidden as error:
        # A user who may not read one namespace may still be allowed to list them.
        with suppress(KapyError):
            listed = await client.list(NAMESPACES)
            if any(item["metadata"]["name"] == name for item in listed.items):
                return
        raise error
