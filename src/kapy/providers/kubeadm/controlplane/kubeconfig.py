"""The kubeconfig Secret of the cluster: made once, renewed at half of its certificate's life."""

from __future__ import annotations

from datetime import datetime, timedelta

from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.kube import Document, Key
from kapy.kube.meta import owner_reference
from kapy.kube.names import SECRETS
from kapy.kube.pki import Algorithm, KeyPair
from kapy.providers.kubeadm.bootstrap.discovery import endpoint_of
from kapy.providers.kubeadm.controlplane.certificates import own_secret
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.providers.kubeadm.controlplane.tools import Tools
from kapy.remote.connections import Kubeconfig
from kapy.remote.kubeconfig_secret import (
    access,
    kubeconfig_secret,
    next_renewal,
    renewed_data,
)
from kapy.remote.secrets import CLUSTER_CA, KUBECONFIG, key_pair
from kapy.sdk import NotYet, Result, requeue


async def ensure_kubeconfig(tools: Tools, plane: ControlPlane) -> Result | None:
    """Have the Secret, owned by the control plane unless a user brought it."""
    cluster = plane.cluster.key
    secret = await tools.keychain.secret(cluster, KUBECONFIG)
    if secret is None:
        await _make(tools, plane)
        return None
    secret = await own_secret(tools, plane.kcp, secret)
    if not _is_ours(secret, plane.kcp):
        return None
    renewal = _renewal(tools, secret)
    if renewal <= plane.now:
        ca = await _authority(tools, cluster)
        key = await tools.runtime.keys.new(algorithm(plane.kcp))
        data = renewed_data(secret, cluster.name, ca, now=plane.now, key=key)
        await tools.runtime.client.patch(SECRETS, Key.of(secret), {"data": data})
        return None
    # A timer, because the end of a certificate is no event.
    after = max(renewal - plane.now, timedelta(seconds=1))
    plane.wake_by(requeue(after=after, because="the kubeconfig's certificate is to be renewed"))
    return None


async def cluster_access(tools: Tools, cluster: Key) -> Kubeconfig:
    """How to reach the workload cluster. Raises NotYet, BadSecret."""
    secret = await tools.keychain.secret(cluster, KUBECONFIG)
    if secret is None:
        raise NotYet(f"the kubeconfig Secret of Cluster {cluster} is not there yet")
    version = secret["metadata"]["resourceVersion"]
    known = tools.memory.access.get(cluster)
    if known is None or known[0] != version:
        known = tools.memory.access[cluster] = version, access(secret)
    return known[1]


def algorithm(kcp: KubeadmControlPlane) -> Algorithm:
    """The kind of keys that the control plane asks for."""
    asked = kcp.spec.kubeadm_config_spec.cluster_configuration.encryption_algorithm
    algorithms: dict[str, Algorithm] = {
        "RSA-3072": "RSA-3072",
        "RSA-4096": "RSA-4096",
        "ECDSA-P256": "ECDSA-P256",
        "ECDSA-P384": "ECDSA-P384",
    }
    return algorithms.get(asked, "RSA-2048")


async def _make(tools: Tools, plane: ControlPlane) -> None:
    ca = await _authority(tools, plane.cluster.key)
    secret = kubeconfig_secret(
        plane.cluster.key,
        f"https://{endpoint_of(plane.cluster)}",
        ca,
        owner_reference(plane.kcp, controller=True, block_deletion=True),
        now=plane.now,
        key=await tools.runtime.keys.new(algorithm(plane.kcp)),
    )
    await tools.runtime.client.create(SECRETS, secret)


async def _authority(tools: Tools, cluster: Key) -> KeyPair:
    secret = await tools.keychain.secret(cluster, CLUSTER_CA)
    if secret is None:
        raise NotYet(f"the CA Secret of Cluster {cluster} is not there yet")
    return key_pair(secret)


def _renewal(tools: Tools, secret: Document) -> datetime:
    key, version = Key.of(secret), secret["metadata"]["resourceVersion"]
    known = tools.memory.renewals.get(key)
    if known is None or known[0] != version:
        known = tools.memory.renewals[key] = version, next_renewal(secret)
    return known[1]


def _is_ours(secret: Document, kcp: KubeadmControlPlane) -> bool:
    return any(
        one.get("controller") and one.get("uid") == kcp.metadata.uid
        for one in secret["metadata"].get("ownerReferences") or ()
    )
