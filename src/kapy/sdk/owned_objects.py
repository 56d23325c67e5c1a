"""The objects that a provider creates in the management cluster for one of its objects.

    add_infra_machine(runtime, PaperMachine, cloud, finalizer=…, owns=[IPAddressClaim.RESOURCE])

    claim = await context.ensure_owned(CLAIMS, {"spec": {…}}, slot="eth0")  # reconcile_normal
    left = await context.delete_owned(CLAIMS)                                # reconcile_delete

Each created object has the provider's object as its controller and carries the label of the
Cluster. Its name is computed from the name of the provider's object and the slot. So a repeated
call creates no second object, even after a lost response, a crash or a move. Owned objects are
garbage collected with their owner. Their changes enqueue the owner, so their kinds are declared in
`owns`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kapy.api.names import Label
from kapy.contract.external import owner_keys
from kapy.engine.cache import Informer
from kapy.engine.controller import STATUS_DEBOUNCE, Controller
from kapy.engine.result import NotYet
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, NotFound
from kapy.kube.generated_names import generated_name
from kapy.kube.meta import owner_reference
from kapy.kube.model import encode
from kapy.kube.names import Resource
from kapy.kube.renamed import RenamedMember
from kapy.sdk.reports import ProviderMistake

BY_OWNER: Final = "sdk/owner"


class OwnedKinds:
    """The kinds of objects that a provider's objects of one kind create. owners: the informer of
    the provider's objects.
    """

    def __init__(self, runtime: Runtime, owners: Resource, kinds: Sequence[Resource]) -> None:
        self.client = runtime.client
        self._owners = owners
        # All created objects have the label, so only labelled objects are watched.
        self._informers: dict[Resource, Informer[Document]] = {
            kind: runtime.cache.informer(kind, labels=Label.CLUSTER_NAME) for kind in kinds
        }
        for kind, informer in self._informers.items():
            informer.add_index(BY_OWNER, _owners_of)
            runtime.declare_write(kind, "create", "delete", "patch")

    def attach(self, controller: Controller) -> None:
        """Enqueue the owner of a changed object."""
        owners = owner_keys(self._owners.group_kind)
        for informer in self._informers.values():
            controller.watch(informer, owners, debounce=STATUS_DEBOUNCE)

    def owned_by(self, owner: Document, cluster: str) -> OwnedObjects:
        """Return the access to the objects that one object owns. cluster: the name of its
        Cluster.
        """
        return OwnedObjects(self, owner, cluster)

    def informer(self, kind: Resource) -> Informer[Document]:
        """Return the informer of a kind. Raises ProviderMistake if the kind was not declared."""
        result = self._informers.get(kind)
        if result is None:
            raise ProviderMistake(
                f"{self._owners.kind} objects are not declared to own objects of the kind "
                f"{kind.kind}: name it in `owns` where the provider is added"
            )
        return result


class OwnedObjects:
    """The objects that one object owns."""

    def __init__(self, kinds: OwnedKinds, owner: Document, cluster: str) -> None:
        self._kinds = kinds
        self._owner = owner
        self._cluster = cluster

    async def ensure(self, kind: Resource, document: Document, slot: str = "") -> Document:
        """Create an object as `OwningContext.ensure_owned` does."""
        informer = self._kinds.informer(kind)
        new = self._new_document(kind, document, slot)
        result = informer.raw(Key.of(new))
        if result is None:
            try:
                return await self._kinds.client.create(kind, new)
            except AlreadyExists:
                result = await self._kinds.client.get(kind, Key.of(new))
        return await self._restore_ownership(kind, result, new)

    def find(self, kind: Resource) -> Sequence[Document]:
        """Return objects as `OwningContext.list_owned` does."""
        return self._kinds.informer(kind).list_by_index(BY_OWNER, self._owner["metadata"]["uid"])

    async def delete(self, kind: Resource, name: str = "") -> int:
        """Delete objects as `OwningContext.delete_owned` does."""
        for item in self._select(kind, name):
            metadata = item["metadata"]
            if "deletionTimestamp" not in metadata:
                try:
                    await self._kinds.client.delete(kind, Key.of(item), uid=metadata["uid"])
                except NotFound:
                    continue
        return len(self._select(kind, name))

    def _select(self, kind: Resource, name: str) -> list[Document]:
        return [item for item in self.find(kind) if name in ("", item["metadata"]["name"])]

    async def _restore_ownership(self, kind: Resource, value: Document, new: Document) -> Document:
        """Return the existing object if it is owned; restore its owner and label."""
        metadata, key = value["metadata"], Key.of(value)
        if "deletionTimestamp" in metadata:
            raise NotYet(f"{kind.kind} {key} is going, and not gone yet")
        owners = metadata.get("ownerReferences") or []
        labels = metadata.get("labels") or {}
        if any(owner["uid"] == self._owner["metadata"]["uid"] for owner in owners):
            if labels.get(Label.CLUSTER_NAME) == self._cluster:
                return value
        elif owners or labels.get(Label.CLUSTER_NAME) != self._cluster:
            mine = self._owner["kind"], Key.of(self._owner)
            raise ProviderMistake(
                f"{kind.kind} {key} is there already, and not of {mine[0]} {mine[1]}: use another "
                "name, or delete it"
            )
        patch: Document = {"metadata": {"labels": {Label.CLUSTER_NAME: self._cluster}}}
        if not owners:
            patch["metadata"]["ownerReferences"] = new["metadata"]["ownerReferences"]
            patch["metadata"]["resourceVersion"] = metadata["resourceVersion"]
        return await self._kinds.client.patch(kind, key, patch)

    def _new_document(self, kind: Resource, document: Document, slot: str) -> Document:
        owner, document_metadata = self._owner["metadata"], document.get("metadata") or {}
        name = document_metadata.get("name") or generated_name(f"{owner['name']}-", kind.kind, slot)
        reference = encode(owner_reference(self._owner, controller=True, block_deletion=True))
        metadata = {
            **document_metadata,
            "name": name,
            "namespace": owner["namespace"],
            "labels": {
                **(document_metadata.get("labels") or {}),
                Label.CLUSTER_NAME: self._cluster,
            },
            "ownerReferences": [reference],
        }
        named = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
        return {**document, **named}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwningContext:
    """The context of an object that owns other objects in the management cluster (`owns`)."""

    make = RenamedMember("ensure_owned")
    made = RenamedMember("list_owned")
    unmake = RenamedMember("delete_owned")

    owned: OwnedObjects | None = field(default=None, repr=False, compare=False)

    async def ensure_owned(self, kind: Resource, document: Document, *, slot: str = "") -> Document:
        """Return the object in a slot; create it from `document` if it does not exist.

        document: spec, data, and additional metadata; a name there is used as it is. Raises NotYet
        while the former object is being deleted, ProviderMistake if the name belongs to another
        owner.
        """
        return await self._owned_objects.ensure(kind, document, slot)

    def list_owned(self, kind: Resource) -> Sequence[Document]:
        """Return the owned objects of a kind, including those in deletion. Shared: read only."""
        return self._owned_objects.find(kind)

    async def delete_owned(self, kind: Resource, name: str = "") -> int:
        """Delete the owned objects of a kind (or the one with that name); return how many
        remain.
        """
        return await self._owned_objects.delete(kind, name)

    @property
    def _owned_objects(self) -> OwnedObjects:
        if self.owned is None:
            raise ProviderMistake(
                "this context was not created by a controller: it cannot own objects"
            )
        return self.owned


def _owners_of(document: Document) -> Iterable[str]:
    references: Sequence[Any] = document["metadata"].get("ownerReferences") or ()
    return [reference["uid"] for reference in references if reference.get("controller")]
