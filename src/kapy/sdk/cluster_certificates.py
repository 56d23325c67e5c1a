"""Find and store a cluster's certificates in its Secrets.

Users may provide certificates of their own, which are checked before they are used. A certificate
that does not fit its key would make machines fail without any message. No error quotes the contents
of a Secret.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kapy._aio.clock import Clock
from kapy.client.client import Client
from kapy.engine.cache import Informer
from kapy.engine.private_keys import PrivateKeyPool
from kapy.engine.result import NotYet
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, KapyError, NotFound
from kapy.kube.meta import OwnerReference
from kapy.kube.model import encode
from kapy.kube.names import SECRETS
from kapy.kube.pki import (
    InvalidPem,
    KeyPair,
    has_public_keys,
    holds_public_key,
    is_authority,
    is_matching_pair,
    load,
    public_key,
)
from kapy.kube.renamed import RenamedMember
from kapy.remote.secrets import (
    API_SERVER_ETCD_CLIENT,
    CERTIFICATE,
    CLUSTER_CA,
    CLUSTER_NAME_LABEL,
    PRIVATE_KEY,
    SECRET_TYPE,
    SERVICE_ACCOUNT,
    BadSecret,
    UnusableSecrets,
    certificate_secret,
    is_watched,
    key_pair,
    secret_key,
    secret_problem,
)
from kapy.sdk.certificate_specs import ClusterCertificate, new_key_pair

_UNREADABLE: Final = f"{CERTIFICATE} holds no certificate in PEM form that can be read"
_NO_AUTHORITY: Final = f"the certificate in {CERTIFICATE} is not one of an authority (CA:TRUE)"
_MISMATCH: Final = f"{PRIVATE_KEY} is not the private key of the certificate in {CERTIFICATE}"
_NO_KEY: Final = f"{PRIVATE_KEY} holds no RSA or EC private key in PEM form that can be read"
_NO_PUBLIC_KEY: Final = f"{CERTIFICATE} holds no public key in PEM form that can be read"
_OTHER_PUBLIC_KEY: Final = f"{PRIVATE_KEY} is not the private key of a public key in {CERTIFICATE}"


def certificate_problem(certificate: ClusterCertificate, pair: KeyPair) -> str:
    """Return what is wrong with a certificate and its key, "" if they are valid. The key may be
    missing, since it may be kept elsewhere.
    """
    if certificate.purpose == SERVICE_ACCOUNT:
        return _public_key_problem(pair)
    try:
        load(pair.certificate)
        signs = not certificate.external and certificate.purpose != API_SERVER_ETCD_CLIENT
        if signs and not is_authority(pair.certificate):
            return _NO_AUTHORITY
    except InvalidPem:
        return _UNREADABLE
    if not pair.key:
        return ""
    try:
        return "" if is_matching_pair(pair) else _MISMATCH
    except InvalidPem:
        return _NO_KEY


def _public_key_problem(pair: KeyPair) -> str:
    """Check a service account key, which has no certificate."""
    if not pair.key:
        return "" if has_public_keys(pair.certificate) else _NO_PUBLIC_KEY
    try:
        public_key(pair.key)
    except InvalidPem:
        return _NO_KEY
    try:
        return "" if holds_public_key(pair.certificate, pair.key) else _OTHER_PUBLIC_KEY
    except InvalidPem:
        return _NO_PUBLIC_KEY


CLUSTER_SECRETS: Final = CLUSTER_NAME_LABEL
"""The label selector for the Secrets that are watched; a user's own Secret may lack the label."""

MAX_CHECKED: Final = 10_000
"""The number of checked Secrets whose results are cached."""


class ExternalCertificateMissing(KapyError):
    """A certificate that the user provides (external etcd) does not exist."""


@dataclass(frozen=True, slots=True)
class StoredCertificate:
    """A certificate in its Secret."""

    pair: KeyPair
    secret: Document


class ClusterCertificates:
    """Reads and creates the certificate Secrets of all clusters."""

    find_or_make = RenamedMember("find_or_create")
    make = RenamedMember("create")
    own = RenamedMember("set_controller")

    def __init__(
        self, client: Client, secrets: Informer[Document], clock: Clock, keys: PrivateKeyPool
    ) -> None:
        self._client = client
        self._keys = keys
        self._secrets = secrets
        self._clock = clock
        # By Secret and use: the checked resourceVersion, and the problem.
        self._checked: dict[tuple[Key, ClusterCertificate], tuple[str, str]] = {}

    @classmethod
    def of(cls, runtime: Runtime) -> ClusterCertificates:
        """Return the certificates, read through the runtime's cache."""
        secrets = runtime.cache.informer(SECRETS, labels=CLUSTER_SECRETS)
        return cls(runtime.client, secrets, runtime.clock, runtime.private_keys)

    async def secret(self, cluster: Key, purpose: str) -> Document | None:
        """Return a cluster's Secret from the cache or, if it lacks the label, from the server."""
        key = secret_key(cluster, purpose)
        cached = self._secrets.raw(key)
        if cached is not None:
            return cached
        try:
            return await self._client.get(SECRETS, key)
        except NotFound:
            return None

    async def find(
        self, cluster: Key, certificates: Sequence[ClusterCertificate], *, checked: bool = True
    ) -> dict[str, StoredCertificate]:
        """Return the existing certificates by purpose. checked: whether each must fit its key.

        Raises ExternalCertificateMissing, UnusableSecrets; BadSecret if not checked.
        """
        secrets = await self._secrets_of(cluster, certificates)
        result: dict[str, StoredCertificate] = {}
        unusable: list[tuple[Document, str]] = []
        for certificate, secret in zip(certificates, secrets, strict=True):
            if secret is None:
                if certificate.external:
                    key = secret_key(cluster, certificate.purpose)
                    raise ExternalCertificateMissing(
                        f"external certificate not found: Secret {key}"
                    )
                continue
            if checked and (problem := self._problem(certificate, secret)):
                unusable.append((secret, problem))
            else:
                result[certificate.purpose] = StoredCertificate(key_pair(secret), secret)
        if unusable:
            raise UnusableSecrets(
                (secret_problem(secret, problem) for secret, problem in unusable),
                is_watched=all(is_watched(secret) for secret, _ in unusable),
            )
        return result

    async def find_or_create(
        self,
        cluster: Key,
        certificates: Sequence[ClusterCertificate],
        owner: OwnerReference,
        *,
        checked: bool = True,
    ) -> dict[str, StoredCertificate]:
        """Return the certificates by purpose, after creating missing ones; nothing is created
        beside unusable ones. Raises as `find`.
        """
        stored = await self.find(cluster, certificates, checked=checked)
        missing = [certificate for certificate in certificates if certificate.purpose not in stored]
        return stored | await self.create(cluster, missing, owner)

    async def create(
        self, cluster: Key, ours: Sequence[ClusterCertificate], owner: OwnerReference
    ) -> dict[str, StoredCertificate]:
        """Create missing certificates, by purpose.

        Keys are generated concurrently. A Secret that appears meanwhile wins. Raises
        UnusableSecrets.
        """
        stored: dict[str, StoredCertificate] = {}
        if not ours:
            return stored
        keys = await asyncio.gather(*(self._keys.new(our.algorithm) for our in ours))
        now = self._clock()
        pairs = [new_key_pair(our, now, key) for our, key in zip(ours, keys, strict=True)]
        for certificate, pair in zip(ours, pairs, strict=True):
            stored[certificate.purpose] = await self._store(cluster, certificate, pair, owner)
        return stored

    async def set_controller(self, secret: Document, owner: OwnerReference) -> Document:
        """Make `owner` the controller of a Secret that Cluster API created (not of a user's)."""
        wanted = encode(owner)
        there: list[Document] = secret["metadata"].get("ownerReferences") or []
        if wanted in there or secret.get("type") != SECRET_TYPE:
            return secret
        others = [item for item in there if not item.get("controller") and item["uid"] != owner.uid]
        patch = {
            "metadata": {
                "ownerReferences": [*others, wanted],
                "resourceVersion": secret["metadata"]["resourceVersion"],
            }
        }
        return await self._client.patch(SECRETS, Key.of(secret), patch)

    async def _secrets_of(
        self, cluster: Key, certificates: Sequence[ClusterCertificate]
    ) -> list[Document | None]:
        """Return all Secrets; those that are not in the cache are read concurrently."""
        cached = [
            self._secrets.raw(secret_key(cluster, certificate.purpose))
            for certificate in certificates
        ]
        if None not in cached:
            return cached
        return await asyncio.gather(
            *(self.secret(cluster, certificate.purpose) for certificate in certificates)
        )

    def _problem(self, certificate: ClusterCertificate, secret: Document) -> str:
        """Return what is wrong with a Secret; each state of it is checked once."""
        key, version = Key.of(secret), secret["metadata"]["resourceVersion"]
        result = self._checked.get((key, certificate))
        if result is None or result[0] != version:
            try:
                problem = certificate_problem(certificate, key_pair(secret))
            except BadSecret as error:
                problem = str(error).removeprefix(f"Secret {key}: ")
            if len(self._checked) >= MAX_CHECKED:
                self._checked.clear()
            result = self._checked[(key, certificate)] = version, problem
        return result[1]

    async def _store(
        self, cluster: Key, certificate: ClusterCertificate, pair: KeyPair, owner: OwnerReference
    ) -> StoredCertificate:
        secret = certificate_secret(cluster, certificate.purpose, pair, owner)
        try:
            return StoredCertificate(pair, await self._client.create(SECRETS, secret))
        except AlreadyExists:
            return (await self.find(cluster, [certificate]))[certificate.purpose]


class ClusterKeys:
    """The certificates of one cluster, as a provider gets them. owner: the owner of generated
    certificates.
    """

    def __init__(
        self, certificates: ClusterCertificates, cluster: Key, owner: OwnerReference
    ) -> None:
        self._certificates = certificates
        self._cluster = cluster
        self._owner = owner

    async def get(self, purpose: str = CLUSTER_CA) -> KeyPair:
        """Return the key pair of a purpose (`ca`, `etcd`, `proxy`, `sa`, …).

        Raises NotYet while it does not exist, which the SDK waits for; BadSecret.
        """
        secret = await self._certificates.secret(self._cluster, purpose)
        if secret is None:
            raise NotYet(
                f"waiting for the Secret {secret_key(self._cluster, purpose)} with the cluster's"
                f' certificate "{purpose}"'
            )
        return key_pair(secret)

    async def ensure(self, *wanted: ClusterCertificate) -> dict[str, KeyPair]:
        """Return the key pairs by purpose, after creating missing ones once.

        Raises ExternalCertificateMissing, UnusableSecrets.
        """
        stored = await self._certificates.find_or_create(self._cluster, wanted, self._owner)
        return {purpose: certificate.pair for purpose, certificate in stored.items()}
