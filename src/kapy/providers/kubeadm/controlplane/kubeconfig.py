"""The kubeconfig Secret of the cluster: created once, renewed at half of its certificate's
lifetime."""

from __future__ import annotations

from datetime import timedelta

from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.kube import Document, Key
from kapy.kube.meta import owner_reference
from kapy.kube.pki import Algorithm
from kapy.providers.kubeadm.bootstrap.discovery import endpoint_of
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.remote.cluster_cache import Kubeconfig
from kapy.remote.kubeconfig_secret import access
from kapy.remote.secrets import KUBECONFIG
from kapy.sdk import NotYet, Result, requeue


async def ensure_kubeconfig(dependencies: Dependencies, plane: ControlPlane) -> Result | None:
    """Ensure the Secret, owned by the control plane unless a user created it."""
    renewal = await dependencies.kubeconfigs.issue(
        plane.cluster.key,
        f"https://{endpoint_of(plane.cluster)}",
        owner_reference(plane.kcp, controller=True, block_deletion=True),
        algorithm=algorithm(plane.kcp),
    )
    if renewal is not None:
        # A timer, because the end of a certificate is no event.
        after = max(renewal - plane.now, timedelta(seconds=1))
        plane.requeue_by(
            requeue(after=after, because="the kubeconfig's certificate is to be renewed")
        )
    return None


async def cluster_access(dependencies: Dependencies, cluster: Key) -> Kubeconfig:
    """Return the access to the workload cluster. Raises NotYet, BadSecret."""
    secret = await dependencies.certificates.secret(cluster, KUBECONFIG)
    if secret is None:
        raise NotYet(f"the kubeconfig Secret of Cluster {cluster} is not there yet")
    return access_of(dependencies, cluster, secret)


def access_of(dependencies: Dependencies, cluster: Key, secret: Document) -> Kubeconfig:
    """Return the access in a Secret, parsed once for each version. Raises BadSecret."""
    version = secret["metadata"]["resourceVersion"]
    entry = dependencies.cache.kubeconfigs.get(cluster)
    if entry is None or entry[0] != version:
        entry = dependencies.cache.kubeconfigs[cluster] = version, access(secret)
    return entry[1]


def algorithm(kcp: KubeadmControlPlane) -> Algorithm:
    """Return the key algorithm that the control plane specifies."""
    request = kcp.spec.kubeadm_config_spec.cluster_configuration.encryption_algorithm
    algorithms: dict[str, Algorithm] = {
        "RSA-3072": "RSA-3072",
        "RSA-4096": "RSA-4096",
        "ECDSA-P256": "ECDSA-P256",
        "ECDSA-P384": "ECDSA-P384",
    }
    return algorithms.get(request, "RSA-2048")
