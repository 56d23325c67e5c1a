"""The users of Secrets and identities: watches that enqueue the users, and finalizers that keep
what is used.

A Secret or identity has a finalizer while a cluster's infrastructure uses it. A Secret is owned by
its users and labelled for `move`, so that it is moved with their clusters; it survives them, since
a user created it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final

from kapy.api.names import Label
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller, Mapper
from kapy.engine.draft import Draft
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.meta import Object, owner_reference
from kapy.kube.names import NAMESPACES, SECRETS, Resource
from kapy.sdk.changes import is_update
from kapy.sdk.credential_types import SECRET, identity_reference, secret_of_identity

_BY_CREDENTIAL: Final = "sdk/credential"
_BY_SECRET: Final = "sdk/identity-secret"
Users = Callable[[Key], Iterable[Key]]
"""Maps the key of a user of a changed credential to the keys to reconcile."""

_MOVE_LABEL: Final = Label.CLUSTERCTL_MOVE
"""The label of every Secret in use. `clusterctl move` moves Secrets with it, and one watch has all
of them."""


class Usage:
    """The objects of one kind of cluster infrastructure (`infra`), and their references.

    Keys of Secrets have a namespace, keys of identities have none.
    """

    def __init__(
        self, runtime: Runtime, infra: Resource, identity: Resource | None, namespace: str
    ) -> None:
        self._default = namespace
        self.infra = runtime.cache.informer(infra)
        self.infra.add_index(_BY_CREDENTIAL, _reference_index)
        self.secrets = runtime.cache.informer(SECRETS, labels=_MOVE_LABEL)
        self.identities: Informer[Document] | None = None
        self.namespaces: Informer[Document] | None = None
        if identity is not None:
            self.identities = runtime.cache.informer(identity)
            self.identities.add_index(_BY_SECRET, self._secret_index)
            self.namespaces = runtime.cache.informer(NAMESPACES)

    def secret_of(self, identity: Document) -> Key | None:
        """Return the Secret of an identity."""
        return secret_of_identity(identity, self._default)

    def key_referenced_by(self, infra: Document) -> Key | None:
        """Return the key that an object refers to."""
        return next(map(_key_of, _reference_index(infra)), None)

    def direct_users(self, key: Key) -> list[Document]:
        """Return the objects that refer to a Secret or an identity."""
        return list(self.infra.list_by_index(_BY_CREDENTIAL, str(key)))

    def identities_of(self, secret: Key) -> list[Document]:
        """Return the identities of a Secret."""
        provider_id = self.identities
        return (
            [] if provider_id is None else list(provider_id.list_by_index(_BY_SECRET, str(secret)))
        )

    def attach(self, controller: Controller, users: Users) -> None:
        """Enqueue `users` of every changed object."""

        def mapped(keys: Mapper) -> Mapper:
            return lambda change: [key for user in keys(change) for key in users(user)]

        controller.watch(self.secrets, mapped(self._of_secret))
        if self.identities is not None and self.namespaces is not None:
            controller.watch(self.identities, mapped(self._of_identity))
            controller.watch(self.namespaces, mapped(self._of_namespace))

    def _of_secret(self, change: Change) -> Iterable[Key]:
        if is_update(change, lambda value: value.get("data")):
            return []
        key = Key.of(change.document)
        users = self.direct_users(key)
        for identity in self.identities_of(key):
            users += self.direct_users(Key.of(identity))
        return map(Key.of, users)

    def _of_identity(self, change: Change) -> Iterable[Key]:
        if is_update(change, lambda value: value.get("spec")):
            return []
        return map(Key.of, self.direct_users(Key.of(change.document)))

    def _of_namespace(self, change: Change) -> Iterable[Key]:
        if is_update(change, lambda value: value["metadata"].get("labels")):
            return []
        name = self.infra.list(change.document["metadata"]["name"])
        named = ((item, identity_reference(item)) for item in name)
        return [Key.of(item) for item, reference in named if reference and reference.kind != SECRET]

    def _secret_index(self, identity: Document) -> Iterable[str]:
        secret = self.secret_of(identity)
        return () if secret is None else (str(secret),)


def _reference_index(infra: Document) -> Iterable[str]:
    reference = identity_reference(infra)
    if reference is None:
        return ()
    namespace = infra["metadata"]["namespace"] if reference.kind == SECRET else ""
    return (str(Key(namespace, reference.name)),)


def _key_of(name: str) -> Key:
    namespace, _, rest = name.rpartition("/")
    return Key(namespace, rest)


class _SecretMeta(Object):
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
        draft = Draft(self._client, _SecretMeta, secret)
        metadata = draft.object.metadata
        metadata.labels.setdefault(_MOVE_LABEL, "")
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
        draft = Draft(self._client, _SecretMeta, secret)
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
