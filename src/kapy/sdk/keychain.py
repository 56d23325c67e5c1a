"""Finding and keeping a cluster's certificates in its Secrets."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kapy._aio.clock import Clock
from kapy.client.client import Client
from kapy.engine.cache import Informer
from kapy.engine.failure import NotYet
from kapy.engine.keys import Keys
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, KapyError, NotFound
from kapy.kube.meta import OwnerReference
from kapy.kube.model import encode
from kapy.kube.names import SECRETS
from kapy.kube.pki import KeyPair
from kapy.remote.secrets import (
    CLUSTER_CA,
    CLUSTER_NAME_LABEL,
    SECRET_TYPE,
    certificate_secret,
    key_pair,
    secret_key,
)
from kapy.sdk.cluster_certificates import ClusterCertificate, made

CLUSTER_SECRETS: Final = CLUSTER_NAME_LABEL
"""Label selector of the Secrets that are watched; a user's own may lack the label."""


class ExternalCertificateMissing(KapyError):
    """A certificate that the user keeps (external etcd) is not there."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A certificate as its Secret holds it."""

    pair: KeyPair
    secret: Document


class Keychain:
    """The certificate Secrets of all clusters."""

    def __init__(
        self, client: Client, secrets: Informer[Document], clock: Clock, keys: Keys
    ) -> None:
        self._client = client
        self._keys = keys
        self._secrets = secrets
        self._clock = clock
        # Secrets that are there without our label, so the cache will never show them.
        self._unlabelled: set[Key] = set()

    @classmethod
    def of(cls, runtime: Runtime) -> Keychain:
        """A keychain that reads through the runtime's cache."""
        secrets = runtime.cache.informer(SECRETS, labels=CLUSTER_SECRETS)
        return cls(runtime.client, secrets, runtime.clock, runtime.keys)

    async def secret(self, cluster: Key, purpose: str) -> Document | None:
        """A cluster's Secret, from the cache or (if it lacks our label) from the server."""
        key = secret_key(cluster, purpose)
        cached = self._secrets.raw(key)
        if cached is not None:
            return cached
        try:
            return await self._client.get(SECRETS, key)
        except NotFound:
            self._unlabelled.discard(key)
            return None

    async def find(
        self, cluster: Key, certificates: Sequence[ClusterCertificate]
    ) -> dict[str, Kept]:
        """What there is, by purpose. Raises ExternalCertificateMissing, BadSecret."""
        found: dict[str, Kept] = {}
        for certificate in certificates:
            secret = await self.secret(cluster, certificate.purpose)
            if secret is not None:
                found[certificate.purpose] = Kept(key_pair(secret), secret)
            elif certificate.external:
                raise ExternalCertificateMissing(
                    "external certificate not found: Secret"
                    f" {secret_key(cluster, certificate.purpose)}"
                )
        return found

    async def find_or_make(
        self, cluster: Key, certificates: Sequence[ClusterCertificate], owner: OwnerReference
    ) -> dict[str, Kept]:
        """What there is, by purpose, after making what was missing.

        Keys are made side by side. A Secret that appears meanwhile (or was there
        without our label) wins over what we made. Raises ExternalCertificateMissing, BadSecret.
        """
        ours = [one for one in certificates if not (one.external or self._is_there(cluster, one))]
        if not ours:
            return await self.find(cluster, certificates)
        keys = await asyncio.gather(*(self._keys.new(one.algorithm) for one in ours))
        now = self._clock()
        pairs = [made(one, now, key) for one, key in zip(ours, keys, strict=True)]
        kept: dict[str, Kept] = {}
        for certificate, pair in zip(ours, pairs, strict=True):
            kept[certificate.purpose] = await self._keep(cluster, certificate.purpose, pair, owner)
        others = [one for one in certificates if one not in ours]
        return kept | await self.find(cluster, others)

    async def own(self, secret: Document, owner: OwnerReference) -> Document:
        """Make `owner` the controller of a Secret that Cluster API made (not of a user's)."""
        wanted = encode(owner)
        there: list[Document] = secret["metadata"].get("ownerReferences") or []
        if wanted in there or secret.get("type") != SECRET_TYPE:
            return secret
        others = [one for one in there if not one.get("controller") and one["uid"] != owner.uid]
        patch = {
            "metadata": {
                "ownerReferences": [*others, wanted],
                "resourceVersion": secret["metadata"]["resourceVersion"],
            }
        }
        return await self._client.patch(SECRETS, Key.of(secret), patch)

    def _is_there(self, cluster: Key, certificate: ClusterCertificate) -> bool:
        key = secret_key(cluster, certificate.purpose)
        return key in self._unlabelled or self._secrets.raw(key) is not None

    async def _keep(self, cluster: Key, purpose: str, pair: KeyPair, owner: OwnerReference) -> Kept:
        secret = certificate_secret(cluster, purpose, pair, owner)
        try:
            return Kept(pair, await self._client.create(SECRETS, secret))
        except AlreadyExists:
            key = secret_key(cluster, purpose)
            there = await self._client.get(SECRETS, key)
            if CLUSTER_NAME_LABEL not in there["metadata"].get("labels", {}):
                self._unlabelled.add(key)
            return Kept(key_pair(there), there)


class ClusterKeys:
    """The certificates of one cluster, for who makes its machines. owner: of those made here."""

    def __init__(self, keychain: Keychain, cluster: Key, owner: OwnerReference) -> None:
        self._keychain = keychain
        self._cluster = cluster
        self._owner = owner

    async def get(self, purpose: str = CLUSTER_CA) -> KeyPair:
        """The pair of that purpose (`ca`, `etcd`, `proxy`, `sa`, …).

        Raises NotYet while it is not there, which the SDK waits for; BadSecret.
        """
        secret = await self._keychain.secret(self._cluster, purpose)
        if secret is None:
            raise NotYet(
                f"waiting for the Secret {secret_key(self._cluster, purpose)} with the cluster's"
                f' certificate "{purpose}"'
            )
        return key_pair(secret)

    async def ensure(self, *wanted: ClusterCertificate) -> dict[str, KeyPair]:
        """The pairs by purpose, after making (once) those that are missing.

        Raises ExternalCertificateMissing, BadSecret.
        """
        kept = await self._keychain.find_or_make(self._cluster, wanted, self._owner)
        return {purpose: one.pair for purpose, one in kept.items()}
