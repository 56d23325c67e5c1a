"""Writes the objects of a provider: creates new ones and updates existing ones.

The order is upstream's (`util/resource`): namespaces, CRDs, objects that others depend on, the
rest; objects of the same rank are written concurrently. A provider that was installed with `kubectl
apply` is adopted; its objects are not created anew. An interrupted run can be repeated.
"""

from __future__ import annotations

from asyncio import sleep
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import Final, TypeVar

from kapy.client.client import Client
from kapy.client.kinds import Kinds, UnknownKind
from kapy.clusterctl.bounded_gather import bounded_gather, gather_all
from kapy.clusterctl.errors import ClusterctlError
from kapy.clusterctl.inventory import BUILT_IN
from kapy.clusterctl.retry import PAUSES, retry
from kapy.clusterctl.waiting import is_established, wait_until_deleted, wait_until_established
from kapy.kube import Document, Key
from kapy.kube.creation_order import creation_rank
from kapy.kube.errors import AlreadyExists, ApiError, Conflict, NotFound, Unreachable
from kapy.kube.names import CRDS, NAMESPACES, GroupKind, Resource, split_api_version

T = TypeVar("T")

TOKEN_SECRET: Final = "kubernetes.io/service-account-token"
DELETION_TIMEOUT: Final = 120.0
"""Time limit in seconds for an object of the same name to finish its deletion."""


class NotApplied(ClusterctlError):
    """An object of a provider cannot be written; the message names the object and the reason."""


class ObjectApplier:
    """Writes objects to one server and discovers its kinds on the way.

    patient: retry transient failures.
    """

    def __init__(self, client: Client, *, patient: bool = True) -> None:
        self._client = client
        self._kinds = Kinds(client)
        self._defines: set[GroupKind] = set()
        self._created: list[tuple[Resource, Document]] = []
        self._attempt = retry if patient else _once

    async def apply(self, objects: Iterable[Document]) -> None:
        """Write all objects. Raises NotApplied, WaitTimeout and Unreachable."""

        for place, some in groupby(sorted(objects, key=_rank), key=_rank):
            if place == creation_rank(CRDS.kind):
                await self._define(list(some))
                continue
            value = list(some)
            await self._discover({item["apiVersion"] for item in value})
            await gather_all(partial(self._write, item) for item in value)

    async def undo(self) -> list[str]:
        """Delete the objects that this run created, unless they were replaced since; objects that
        existed before stay.

        Returns the names of the objects that cannot be deleted, with the reasons.
        """
        remaining = []
        for resource, stored in reversed(self._created):
            key, uid = Key.of(stored), stored["metadata"]["uid"]
            try:
                await self._client.delete(resource, key, uid=uid)
            except (NotFound, Conflict):
                continue
            except (ApiError, Unreachable) as error:
                remaining.append(f"{resource.kind} {key} ({error})")
        self._created.clear()
        return remaining

    async def _create(self, resource: Resource, document: Document) -> Document:
        stored = await self._attempt(lambda: self._client.create(resource, document))
        self._created.append((resource, stored))
        return stored

    async def _define(self, crds: list[Document]) -> None:
        """Write CRDs and wait until their kinds are served."""
        stored = await gather_all(partial(self._define_one, item) for item in crds)
        for crd in crds:
            self._defines.add(GroupKind(crd["spec"]["group"], crd["spec"]["names"]["kind"]))
        waiting = [item["metadata"]["name"] for item in stored if not is_established(item)]
        if waiting:
            await wait_until_established(self._client, waiting)

    async def _discover(self, api_versions: Iterable[str]) -> None:
        """Discover the kinds of each API version once, before many objects need them."""
        await bounded_gather(
            partial(self._attempt, partial(self._kinds.served, version)) for version in api_versions
        )

    async def _define_one(self, crd: Document) -> Document:
        try:
            return await self._create(CRDS, crd)
        except AlreadyExists:
            result = await self._attempt(lambda: self._client.get(CRDS, Key.of(crd)))
        except ApiError as error:
            raise _not_applied(crd, error) from None
        if BUILT_IN in (result["metadata"].get("annotations") or {}):
            return result  # the plane serves these objects itself, in this version only
        return await self._create_or_update(CRDS, crd)

    async def _write(self, document: Document) -> Document:
        resource = await self._resource(document)
        return await self._create_or_update(resource, document)

    async def _create_or_update(self, resource: Resource, document: Document) -> Document:
        key = Key.of(document)
        try:
            while True:
                stored = await self._create_or_patch(resource, key, document)
                if "deletionTimestamp" not in stored["metadata"]:
                    return stored
                await wait_until_deleted(self._client, resource, key, within=DELETION_TIMEOUT)
        except ApiError as error:
            raise _not_applied(document, error) from None
        except TimeoutError:
            raise NotApplied(
                f"{document['kind']} {key} is being deleted, and not gone after "
                f"{DELETION_TIMEOUT:.0f} s; see what its finalizers wait for, then run this again"
            ) from None

    async def _create_or_patch(self, resource: Resource, key: Key, document: Document) -> Document:
        with suppress(AlreadyExists):
            return await self._create(resource, document)
        try:
            return await self._attempt(lambda: self._client.patch(resource, key, document))
        except NotFound:  # deleted between the two requests
            return await self._create(resource, document)

    async def _resource(self, document: Document) -> Resource:
        if document["kind"] == NAMESPACES.kind:
            return NAMESPACES
        group = split_api_version(document["apiVersion"])[0]
        if GroupKind(group, document["kind"]) in self._defines:
            await self._until_discovered(document)
        try:
            return await self._attempt(lambda: self._kinds.of(document))
        except UnknownKind as error:
            raise NotApplied(
                f"failed to create provider object {document['kind']} {Key.of(document)}: {error}; "
                "install what defines that kind first"
            ) from None

    async def _until_discovered(self, document: Document) -> None:
        """Poll discovery until it serves the kind: it cannot be watched and lags behind
        Established."""
        for pause in (0.0, *PAUSES):
            with suppress(UnknownKind):
                await self._attempt(lambda: self._kinds.of(document))
                return
            self._kinds = Kinds(self._client)
            await sleep(pause)


def _rank(document: Document) -> int:
    """Return the rank of an object. A token Secret comes after its ServiceAccount: servers delete
    one whose account does not exist. (Upstream writes it before, and hopes to be faster.)
    """
    if document["kind"] == "Secret" and document.get("type") == TOKEN_SECRET:
        return creation_rank("ServiceAccount") + 1
    return creation_rank(document["kind"])


async def _once(work: Callable[[], Awaitable[T]]) -> T:
    return await work()


def _not_applied(document: Document, error: ApiError) -> NotApplied:
    # Without the sent values: they may be those of a Secret.
    what = f"{document['apiVersion']}, Kind={document['kind']}, {Key.of(document)}"
    return NotApplied(f"failed to create provider object {what}: {error}")
