"""The users of Secrets and identities, and the watches that enqueue them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller, Mapper
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.names import NAMESPACES, SECRETS, Resource
from kapy.sdk.changes import is_update
from kapy.sdk.credential_types import SECRET, identity_reference, secret_of_identity
from kapy.sdk.credentials_finalizers import MOVE_LABEL

BY_CREDENTIAL: Final = "sdk/credential"
BY_SECRET: Final = "sdk/identity-secret"
Users = Callable[[Key], Iterable[Key]]
"""Maps the key of a user of a changed credential to the keys to reconcile."""


class Usage:
    """The objects of one kind of cluster infrastructure (`infra`), and their references.

    Keys of Secrets have a namespace, keys of identities have none.
    """

    def __init__(
        self, runtime: Runtime, infra: Resource, identity: Resource | None, namespace: str
    ) -> None:
        self._default = namespace
        self.infra = runtime.cache.informer(infra)
        self.infra.add_index(BY_CREDENTIAL, _reference_index)
        self.secrets = runtime.cache.informer(SECRETS, labels=MOVE_LABEL)
        self.identities: Informer[Document] | None = None
        self.namespaces: Informer[Document] | None = None
        if identity is not None:
            self.identities = runtime.cache.informer(identity)
            self.identities.add_index(BY_SECRET, self._secret_index)
            self.namespaces = runtime.cache.informer(NAMESPACES)

    def secret_of(self, identity: Document) -> Key | None:
        """Return the Secret of an identity."""
        return secret_of_identity(identity, self._default)

    def key_referenced_by(self, infra: Document) -> Key | None:
        """Return the key that an object refers to."""
        return next(map(_key_of, _reference_index(infra)), None)

    def direct_users(self, key: Key) -> list[Document]:
        """Return the objects that refer to a Secret or an identity."""
        return list(self.infra.list_by_index(BY_CREDENTIAL, str(key)))

    def identities_of(self, secret: Key) -> list[Document]:
        """Return the identities of a Secret."""
        provider_id = self.identities
        return (
            [] if provider_id is None else list(provider_id.list_by_index(BY_SECRET, str(secret)))
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
