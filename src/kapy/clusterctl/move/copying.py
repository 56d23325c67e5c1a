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
from kapy.clusterctl.move.content import movable, recreated
from kapy.clusterctl.move.graph import Ref
from kapy.clusterctl.move.journal import Journal, Made, Prior
from kapy.clusterctl.move.log import Log
from kapy.clusterctl.move.plan import Plan, Planned, Way
from kapy.clusterctl.retry import retry
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, Forbidden, KapyError, NotFound
from kapy.kube.names import NAMESPACES, Resource

_SKIPPED: Final = (
    "Object already exists, skipping upgrade because it is global/it is owned by a global object"
)
_SKIPPED_FROM_DIRECTORY: Final = "Object already exists, skipping moving from directory"
_TOLD: Final = 5
"""The maximum number of objects that an error names; the others are counted."""


class Copying:
    """Writes the objects of plans to one side of a move.

    restorable: this side is the target, so its previous content is recorded in the journal.
    updates: existing objects are updated.
    """

    def __init__(
        self,
        client: Client,
        journal: Journal,
        tell: Log,
        *,
        restorable: bool = True,
        updates: bool = True,
    ) -> None:
        self._journal = journal
        self._client = client
        self._writing = Client(client.transport, field_manager=journal.mark)
        self._tell = tell
        self._restorable = restorable
        self._updates = updates
        self._verb = "Creating" if updates else "Restoring"
        self._found: dict[Ref, Document] = {}
        self._namespaces: set[str] = set()

    async def run(self, plan: Plan) -> None:
        """Write a plan. It can be repeated. Raises MoveError, ApiErrors and Unreachable."""
        self._found = dict(await present(self._client, plan.objects.values()))
        for group in plan.groups():
            await self.write(group)

    async def again(self, one: Planned, owners: Iterable[Planned]) -> None:
        """Write an object whose owners exist."""
        self._found = dict(await present(self._client, [one, *owners]))
        await self.write([one])

    async def write(self, group: Iterable[Planned]) -> None:
        """Write objects whose owners exist."""
        objects = {one.ref: one for one in group}
        for ref in objects:
            self._tell(1, self._verb, **{ref.kind: ref.name}, Namespace=ref.namespace)
        await self._ensure_namespaces({ref.namespace for ref in objects})
        self._note_prior(one for ref, one in objects.items() if ref in self._found)
        written = await bounded_gather([partial(self._written, one) for one in objects.values()])
        if self._restorable:
            made = [(ref, uid) for ref, uid, ours in written if ours]
            new = tuple(one for one in made if one not in self._journal.state.made.items())
            self._journal.write(*[Made(new)] if new else [])
        await bounded_gather(
            [
                partial(self._restore_owners_of_fields, one)
                for ref, one in objects.items()
                if marked(self._journal, self._found[ref])
            ]
        )

    def _note_prior(self, objects: Iterable[Planned]) -> None:
        """Record in the journal the objects that will be updated and that this move did not
        create."""
        if not self._restorable or not self._updates:
            return
        self._journal.write(
            *(
                Prior(one.ref, self._found[one.ref])
                for one in objects
                if one.way is not Way.SHARED
                and one.ref not in self._journal.state.prior
                and not is_made(self._journal, one.ref, self._found[one.ref])
            )
        )

    async def _written(self, one: Planned) -> tuple[Ref, str, bool]:
        """Write an object; returns its reference, its UID, and whether this move created it."""
        found, new = self._found.get(one.ref), False
        if found is not None and found["metadata"].get("deletionTimestamp"):
            found = await self._after_deletion(one)
        if found is None:
            found, new = await self._created(one)
        ours = is_made(self._journal, one.ref, found)
        if not ours and (one.way is Way.SHARED or not self._updates):
            self._say(one, _SKIPPED if self._updates else _SKIPPED_FROM_DIRECTORY)
        elif not new and _differs(self._wanted(one), found):
            self._say(one, "Object already exists, updating")
            found = await self._updated(one)
        self._found[one.ref] = found
        return one.ref, found["metadata"]["uid"], ours

    def _say(self, one: Planned, message: str) -> None:
        self._tell(5, message, **{one.ref.kind: one.ref.name}, Namespace=one.ref.namespace)

    async def _created(self, one: Planned) -> tuple[Document, bool]:
        """Create the object; the second value is False if it existed already."""
        wanted = self._wanted(one)
        try:
            return await retry(lambda: self._writing.create(one.resource, wanted)), True
        except AlreadyExists:
            found = await retry(lambda: self._client.get(one.resource, one.ref.key))
            self._found[one.ref] = found
            self._note_prior([one])
            return found, False
        except NotFound as error:
            raise MoveError(f"cannot create {one.ref}: {error}") from None

    async def _updated(self, one: Planned) -> Document:
        """Update the object to the content of the other side, with retries after concurrent
        writes."""

        async def work() -> Document:
            found = await self._client.get(one.resource, one.ref.key)
            wanted = self._wanted(one)
            kept = {name: found["metadata"][name] for name in ("uid", "resourceVersion")}
            document = {**wanted, "metadata": {**wanted["metadata"], **kept}}
            if "status" in found and "status" not in document:
                document["status"] = found["status"]
            return await self._writing.update(one.resource, document)

        return await retry(work)

    async def _after_deletion(self, one: Planned) -> Document | None:
        """Finish a deletion that this move began; refuse to recreate an object that others
        delete."""
        if self._restorable:
            raise MoveError(
                f"{one.ref} is being deleted in the target; wait until it is gone (`kubectl get` "
                "shows its finalizers), then go on with --resume"
            )
        await unfinalize(self._client, one.resource, one.ref.key)
        with suppress(NotFound):
            return await retry(lambda: self._client.get(one.resource, one.ref.key))
        return None

    async def _restore_owners_of_fields(self, one: Planned) -> None:
        """Restore the managed fields: otherwise their former managers could not remove these
        fields."""
        fields = one.document["metadata"].get("managedFields")
        if fields:
            patch = {"metadata": {"managedFields": fields}}
            await retry(lambda: self._client.patch(one.resource, one.ref.key, patch))

    def _wanted(self, one: Planned) -> Document:
        return wanted(one, self._found)

    async def _ensure_namespaces(self, names: set[str]) -> None:
        for name in sorted(names - self._namespaces - {""}):
            await _ensure_namespace(self._client, name, self._tell)
            self._namespaces.add(name)


def wanted(one: Planned, there: Mapping[Ref, Document]) -> Document:
    """A planned object as it should be on the other side. there: the UIDs of its owners on that
    side."""
    owners = [{**reference, "uid": there[ref]["metadata"]["uid"]} for ref, reference in one.owners]
    return recreated(one.document, owners)


async def present(client: Client, objects: Iterable[Planned]) -> Mapping[Ref, Document]:
    """The existing objects on a side that have the names of planned ones. Raises MoveError for
    unknown kinds.

    It sends one request for each kind and namespace, not for each object.
    """
    planned = {one.ref: one for one in objects}
    places = {(one.resource, one.ref.namespace): one for one in planned.values()}

    async def one(at: Planned) -> list[tuple[Ref, Document]]:
        documents = await _listed(client, at.resource, at.ref.namespace)
        return [(at.ref._replace(name=each["metadata"]["name"]), each) for each in documents]

    found = await bounded_gather([partial(one, at) for at in places.values()])
    return {ref: document for part in found for ref, document in part if ref in planned}


def is_made(journal: Journal, ref: Ref, document: Document) -> bool:
    """Whether the move created this object in its target."""
    if ref in journal.state.prior:
        return False
    known = journal.state.made.get(ref)
    return document["metadata"]["uid"] == known if known else marked(journal, document)


def _differs(wanted: Document, found: Document) -> bool:
    """Whether an object differs from its desired content, including fields to be removed."""
    owners = found["metadata"].get("ownerReferences") or ()
    now = recreated(found, owners)
    return wanted != movable(now, status="status" not in wanted)


def marked(journal: Journal, document: Document) -> bool:
    """Whether the managed fields name this move as a field manager."""
    entries = document["metadata"].get("managedFields") or ()
    return any(entry.get("manager") == journal.mark for entry in entries)


async def unfinalize(client: Client, resource: Resource, key: Key) -> None:
    """Remove the finalizers of an object that is being deleted."""
    with suppress(NotFound):
        patch: Document = {"metadata": {"finalizers": None}}
        await retry(lambda: client.patch(resource, key, patch))


def named(refs: Iterable[object]) -> str:
    """Some names, and how many more there are."""
    names = [str(one) for one in refs]
    more = len(names) - _TOLD
    return ", ".join(names[:_TOLD]) + (f" and {more} more" if more > 0 else "")


async def _listed(client: Client, resource: Resource, namespace: str) -> Iterable[Document]:
    try:
        return (await retry(lambda: client.list(resource, namespace))).items
    except NotFound:
        raise MoveError(
            f"the other cluster does not serve {resource.kind} in version "
            f"{resource.api_version}; install its provider there with `init`"
        ) from None


async def _ensure_namespace(client: Client, name: str, tell: Log) -> None:
    try:
        await retry(lambda: client.get(NAMESPACES, Key("", name)))
    except NotFound:
        tell(1, "Creating", Namespace=name)
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        with suppress(AlreadyExists):
            await retry(lambda: client.create(NAMESPACES, document))
    except Forbidden as error:
        # Who may not read one namespace may still be allowed to list them.
        with suppress(KapyError):
            listed = await client.list(NAMESPACES)
            if any(one["metadata"]["name"] == name for one in listed.items):
                return
        raise error
