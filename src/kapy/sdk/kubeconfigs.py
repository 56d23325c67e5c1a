"""The kubeconfig Secrets of clusters: created once, renewed at half of their certificate's life."""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime

from kapy.engine.result import NotYet
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists
from kapy.kube.meta import OwnerReference
from kapy.kube.names import SECRETS
from kapy.kube.pki import Algorithm, KeyPair
from kapy.remote.kubeconfig_secret import kubeconfig_secret, next_renewal, renewed_data
from kapy.remote.secrets import (
    CLUSTER_CA,
    KUBECONFIG,
    KUBECONFIG_VALUE,
    cluster_secret,
    key_pair,
    secret_name,
    secret_value,
)
from kapy.sdk.cluster_certificates import ClusterCertificates


class Kubeconfigs:
    """Maintains kubeconfig Secrets; the control plane owns those that no user has created."""

    def __init__(self, runtime: Runtime, certificates: ClusterCertificates) -> None:
        self._runtime = runtime
        self._certificates = certificates
        # resourceVersion and content, to avoid decoding it again.
        self._renewals: dict[Key, tuple[str, datetime]] = {}

    async def issue(
        self,
        cluster: Key,
        server: str,
        owner: OwnerReference,
        authority: KeyPair | None = None,
        *,
        algorithm: Algorithm = "RSA-2048",
    ) -> datetime | None:
        """Maintain a kubeconfig for the cluster's administrator with a client certificate of the
        CA.

        server: the URL of the API server. authority: the cluster's CA, None for the one in its
        Secret. Returns when to call again for the renewal; None if it was written just now (its
        change enqueues the control plane) or belongs to a user. Raises NotYet, BadSecret,
        InvalidPem.
        """
        secret = await self._certificates.secret(cluster, KUBECONFIG)
        if secret is None:
            await self._make(cluster, server, owner, authority, algorithm)
            return None
        secret = await self._certificates.set_controller(secret, owner)
        if not _is_controlled(secret, owner):
            return None
        renewal, now = self._renewal(secret), self._runtime.clock()
        if renewal > now:
            return renewal
        ca = authority or await self._authority(cluster)
        key = await self._runtime.private_keys.new(algorithm)
        data = renewed_data(secret, cluster.name, ca, now=now, key=key)
        await self._runtime.client.patch(SECRETS, Key.of(secret), {"data": data})
        return None

    async def keep(self, cluster: Key, value: bytes, owner: OwnerReference) -> None:
        """Store this kubeconfig in the Secret, unless a user has created another one."""
        secret = await self._certificates.secret(cluster, KUBECONFIG)
        if secret is None:
            name = secret_name(cluster.name, KUBECONFIG)
            document = cluster_secret(name, cluster, {KUBECONFIG_VALUE: value}, owner)
            await self._create(document)
            return
        secret = await self._certificates.set_controller(secret, owner)
        if _is_controlled(secret, owner) and secret_value(secret, KUBECONFIG_VALUE) != value:
            data = {KUBECONFIG_VALUE: b64encode(value).decode()}
            await self._runtime.client.patch(SECRETS, Key.of(secret), {"data": data})

    async def _make(
        self,
        cluster: Key,
        server: str,
        owner: OwnerReference,
        authority: KeyPair | None,
        algorithm: Algorithm,
    ) -> None:
        ca = authority or await self._authority(cluster)
        key = await self._runtime.private_keys.new(algorithm)
        now = self._runtime.clock()
        await self._create(kubeconfig_secret(cluster, server, ca, owner, now=now, key=key))

    async def _create(self, secret: Document) -> None:
        try:
            await self._runtime.client.create(SECRETS, secret)
        except AlreadyExists:
            # It is ours and its response was lost, or a user's without our label: the next
            # reconcile decides.
            return

    async def _authority(self, cluster: Key) -> KeyPair:
        secret = await self._certificates.secret(cluster, CLUSTER_CA)
        if secret is None:
            raise NotYet(f"the CA Secret of Cluster {cluster} is not there yet")
        return key_pair(secret)

    def _renewal(self, secret: Document) -> datetime:
        key, version = Key.of(secret), secret["metadata"]["resourceVersion"]
        renewal = self._renewals.get(key)
        if renewal is None or renewal[0] != version:
            renewal = self._renewals[key] = version, next_renewal(secret)
        return renewal[1]


def _is_controlled(secret: Document, owner: OwnerReference) -> bool:
    return any(
        reference.get("controller") and reference.get("uid") == owner.uid
        for reference in secret["metadata"].get("ownerReferences") or ()
    )
