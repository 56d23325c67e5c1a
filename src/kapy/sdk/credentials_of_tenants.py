"""Look up the credential of each object; permissions are never cached.

Secrets, identities and the labels of namespaces are watched: a rotated Secret, a revoked namespace
and a late identity enqueue their users.

The namespaces that may use an identity follow the rule of Cluster API's providers. Without
`allowedNamespaces` no namespace may; with an empty one all may; else those that it lists, and those
whose labels its selector selects. A selector without requirements selects nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from kapy.api.cluster import Cluster
from kapy.engine.cache import Change
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import SECRETS, Resource
from kapy.kube.renamed import RenamedMember
from kapy.kube.selectors import InvalidSelector, selector_of
from kapy.remote.secrets import secret_value
from kapy.sdk.credential_types import (
    RETRY_INTERVAL,
    SECRET,
    Credential,
    CredentialRefused,
    IdentityReference,
    identity_reference,
)
from kapy.sdk.credentials_users import CredentialFinalizers, Usage, Users


def is_allowed(identity: Document, namespace: str, labels: dict[str, str]) -> bool:
    """Return whether objects of a namespace with these labels may use an identity.

    Raises InvalidSelector.
    """
    allowed = (identity.get("spec") or {}).get("allowedNamespaces")
    if allowed is None:
        return False
    names, selector = allowed.get("list") or (), _requirements(allowed.get("selector"))
    if not names and not selector:
        return True
    return namespace in names or (bool(selector) and selector_of(selector).matches(labels))


def _requirements(selector: Document | None) -> Document:
    return {key: value for key, value in (selector or {}).items() if value}


class TenantCredentials:
    """The credentials of the tenants of one kind of cluster infrastructure.

    infra: the kind of the cluster infrastructure. identity: the kind of identities; None if only
    Secrets are referenced. finalizer: the finalizer for Secrets and identities in use; a qualified
    name of the provider. namespace: the default namespace for Secrets of identities.
    """

    wake = RenamedMember("enqueue_users")
    wake_others = RenamedMember("enqueue_members")
    let_go = RenamedMember("release")

    def __init__(
        self,
        runtime: Runtime,
        infra: Resource,
        *,
        finalizer: str,
        identity: Resource | None = None,
        namespace: str = "",
    ) -> None:
        self._infra = infra
        self._identity = identity
        self._client = runtime.client
        self._usage = Usage(runtime, infra, identity, namespace)
        self._finalizers = CredentialFinalizers(runtime, identity, finalizer)
        runtime.add(self._finalizer_controller())

    async def of(
        self, document: Document, cluster: Cluster | None, *, keep: bool = True
    ) -> Credential | None:
        """Return the credential of an object, None if it names none. Raises CredentialRefused.

        document: the infrastructure of a cluster, or another object of `cluster`. keep: whether to
        protect the Secret and the identity from deletion, too.
        """
        kind = document["apiVersion"].partition("/")[0], document["kind"]
        if kind == (self._infra.group, self._infra.kind):
            return await self._of(document, keep=keep)
        if cluster is None:
            result = "the Cluster is gone, and with it what says which credentials to use"
            raise CredentialRefused("ClusterNotFound", result)
        key = self._infra_of(cluster)
        infra = None if key is None else self._usage.infra.raw(key)
        return None if infra is None else await self._of(infra, keep=keep)

    async def _of(self, infra: Document, *, keep: bool) -> Credential | None:
        reference = identity_reference(infra)
        if reference is None:
            return None
        namespace = infra["metadata"]["namespace"]
        if reference.kind == SECRET:
            key, owner = Key(namespace, reference.name), infra
        else:
            owner = self._allowed_identity(reference, namespace)
            results = self._usage.secret_of(owner)
            if results is None:
                result = f"{reference.kind} {reference.name} names no Secret in spec.secretRef"
                raise CredentialRefused("SecretNotFound", result)
            key = results
        secret = await self._secret(key)
        if keep and reference.kind != SECRET:
            await self._finalizers.protect_identity(owner)
        if keep:
            await self._finalizers.protect_secret(secret, owner)
        data = {name: secret_value(secret, name) or b"" for name in secret.get("data") or {}}
        named = f"{reference.kind} {key if reference.kind == SECRET else reference.name}"
        # Finalizers and owners of a Secret also change its resourceVersion, so its data are
        # compared.
        held = hash(tuple(sorted(data.items())))
        version = f"{owner['metadata']['uid']} {secret['metadata']['uid']} {held}"
        return Credential(identity=named, version=version, data=data)

    async def release(self, infra: Document) -> None:
        """Release the credentials of an object before its finalizer is removed."""
        if (named := self._usage.key_referenced_by(infra)) is not None:
            await self._release_unused(named, besides=infra["metadata"]["uid"])

    def enqueue_users(self, controller: Controller, users: Users) -> None:
        """Enqueue the keys that `users` returns for each object whose credential changed."""
        self._usage.attach(controller, users)

    def enqueue_members(self, controller: Controller, users: Users) -> None:
        """Enqueue keys as `enqueue_users` does, also for each object that refers to another
        credential than before.
        """

        def of_infra(change: Change) -> Iterable[Key]:
            old, new = self._old_and_new_reference(change)
            return users(Key.of(change.document)) if old != new else ()

        self._usage.attach(controller, users)
        controller.watch(self._usage.infra, of_infra)

    def _old_and_new_reference(self, change: Change) -> tuple[Key | None, Key | None]:
        old, new = change.old, change.new
        named = self._usage.key_referenced_by
        return None if old is None else named(old), None if new is None else named(new)

    def _infra_of(self, cluster: Cluster) -> Key | None:
        reference = cluster.spec.infrastructure_ref
        if reference is None:
            return None
        named = reference.api_group, reference.kind
        if named != (self._infra.group, self._infra.kind):
            return None
        return Key(cluster.key.namespace, reference.name)

    def _allowed_identity(self, reference: IdentityReference, namespace: str) -> Document:
        """Return an identity. Raises CredentialRefused if it does not exist, or if the namespace
        may not use it.
        """
        named = f"{reference.kind} {reference.name}"
        usage, identity = self._usage, None
        if self._identity is None or reference.kind != self._identity.kind:
            kinds = SECRET if self._identity is None else f"{SECRET} and {self._identity.kind}"
            result = f"spec.identityRef.kind is {reference.kind}; known are {kinds}"
            raise CredentialRefused("IdentityNotFound", result)
        if usage.identities is not None:
            identity = usage.identities.raw(Key("", reference.name))
        if identity is None:
            raise CredentialRefused("IdentityNotFound", f"{named} is not there")
        value = None if usage.namespaces is None else usage.namespaces.raw(Key("", namespace))
        labels = {} if value is None else value["metadata"].get("labels") or {}
        try:
            allowed = is_allowed(identity, namespace, labels)
        except InvalidSelector as error:
            raise CredentialRefused("NamespaceNotAllowed", f"{named}: {error}") from None
        if not allowed:
            raise CredentialRefused(
                "NamespaceNotAllowed",
                f"{named} may not be used in namespace {namespace}: its spec.allowedNamespaces "
                "neither lists nor selects it",
            )
        return identity

    async def _secret(self, key: Key) -> Document:
        cached = self._usage.secrets.raw(key)
        if cached is not None:
            return cached
        try:
            return await self._client.get(SECRETS, key)
        except NotFound:
            raise CredentialRefused(
                "SecretNotFound", f"Secret {key} is not there", RETRY_INTERVAL
            ) from None

    def _finalizer_controller(self) -> Controller:
        """Return the controller that releases unused credentials."""

        async def settle(key: Key) -> Result:
            await self._release_unused(key)
            return DONE

        def of_infra(change: Change) -> Iterable[Key]:
            old, new = self._old_and_new_reference(change)
            return () if old is None or old == new else (old,)

        controller = Controller(f"{self._infra.kind.lower()}/credentials", settle)
        controller.watch(self._usage.infra, of_infra)
        controller.watch(self._usage.secrets, _deleted_key)
        if self._usage.identities is not None:
            controller.watch(self._usage.identities, _deleted_key)
        return controller

    async def _release_unused(self, key: Key, besides: str = "") -> None:
        """Release a Secret or an identity. besides: the uid of an object that no longer counts as a
        user.
        """
        if key.namespace:
            await self._release_unused_secret(key, besides)
            return
        informer = self._usage.identities
        identity = None if informer is None else informer.raw(key)
        if identity is None:
            return
        if not self._users(key, besides):
            await self._finalizers.release_identity(identity)
        if (secret := self._usage.secret_of(identity)) is not None:
            await self._release_unused_secret(secret, besides)

    async def _release_unused_secret(self, key: Key, besides: str) -> None:
        secret = self._usage.secrets.raw(key)
        if secret is None:
            return
        users = self._users(key, besides)
        for identity in self._usage.identities_of(key):
            if self._users(Key.of(identity), besides):
                users.add(identity["metadata"]["uid"])
        kinds = [
            resource.kind for resource in (self._infra, self._identity) if resource is not None
        ]
        await self._finalizers.update_secret_users(secret, kinds, users)

    def _users(self, key: Key, besides: str) -> set[str]:
        return {user["metadata"]["uid"] for user in self._usage.direct_users(key)} - {besides}


def _deleted_key(change: Change) -> Iterable[Key]:
    """Map an object in deletion to its key: its finalizer has to be removed."""
    new = change.new
    return (Key.of(new),) if new is not None and "deletionTimestamp" in new["metadata"] else ()
