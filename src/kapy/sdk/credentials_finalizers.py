"""Protect Secrets and identities that are in use, and include them in a move.

Each has a finalizer while a cluster's infrastructure uses it. A Secret is owned by its users and
labelled for `move`, so that it is moved with their clusters; it survives them, since a user created
it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from kapy.api.names import Label
from kapy.engine.draft import Draft
from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.meta import Object, owner_reference
from kapy.kube.names import SECRETS, Resource

MOVE_LABEL: Final = Label.CLUSTERCTL_MOVE
"""The label of every Secret in use. `clusterctl move` moves Secrets with it, and one watch has all
of them."""


class SecretMeta(Object):
    """The metadata of a Secret."""

    RESOURCE: ClassVar[Resource] = SECRETS


class CredentialFinalizers:
    """Adds and removes the finalizers of Secrets and identities in use. finalizer: a qualified name
    of the provider.
    """

    def __init__(self, runtime: Runtime, identity: Resource | None, finalizer: str) -> None:
        self._client = runtime.client
        self._finalizer = finalizer
        self._identity: type[Object] | None = None
        runtime.declare_write(SECRETS, "patch")
        if identity is not None:
            runtime.declare_write(identity, "patch")
            name = f"{identity.kind}Meta"
            self._identity = type(name, (Object,), {"RESOURCE": identity, "__module__": __name__})

    async def protect_secret(self, secret: Document, owner: Document) -> None:
        """Add the finalizer and an owner to a Secret that `owner` uses."""
        draft = Draft(self._client, SecretMeta, secret)
        metadata = draft.object.metadata
        metadata.labels.setdefault(MOVE_LABEL, "")
        if owner["metadata"]["uid"] not in {
            reference.uid for reference in metadata.owner_references
        }:
            metadata.owner_references.append(owner_reference(owner))
        await self._add_finalizer(draft)

    async def protect_identity(self, identity: Document) -> None:
        """Add the finalizer to an identity, so that it is not deleted while it is in use."""
        assert self._identity is not None
        await self._add_finalizer(Draft(self._client, self._identity, identity))

    async def update_secret_users(
        self, secret: Document, kinds: Iterable[str], users: set[str]
    ) -> None:
        """Remove the owners that no longer use a Secret, and the finalizer with the last one.

        kinds: the kinds of possible owners; users: the uids of current ones.
        """
        draft = Draft(self._client, SecretMeta, secret)
        metadata = draft.object.metadata
        if self._finalizer not in metadata.finalizers:
            return
        metadata.owner_references = [
            reference
            for reference in metadata.owner_references
            if reference.kind not in kinds or reference.uid in users
        ]
        if not users:
            metadata.finalizers.remove(self._finalizer)
        await draft.save()

    async def release_identity(self, identity: Document) -> None:
        """Remove the finalizer of an unused identity."""
        assert self._identity is not None
        draft = Draft(self._client, self._identity, identity)
        if self._finalizer in draft.object.metadata.finalizers:
            draft.object.metadata.finalizers.remove(self._finalizer)
            await draft.save()

    async def _add_finalizer(self, draft: Draft[Any]) -> None:
        metadata = draft.object.metadata
        if self._finalizer not in metadata.finalizers and not draft.object.deleting:
            metadata.finalizers.append(self._finalizer)
        await draft.save()
