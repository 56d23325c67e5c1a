"""Phase: create the kubeconfig of Clusters whose control plane has no provider."""

from __future__ import annotations

from kapy.core.cluster.scope import ClusterScope
from kapy.core.cluster.status import has_endpoint
from kapy.engine.result import DONE, Result
from kapy.kube import Document
from kapy.kube.errors import AlreadyExists, NotFound
from kapy.kube.meta import owner_reference
from kapy.kube.names import SECRETS
from kapy.remote.kubeconfig_secret import kubeconfig_secret
from kapy.remote.secrets import CLUSTER_CA, KUBECONFIG, key_pair, secret_key


async def reconcile_kubeconfig(scope: ClusterScope) -> Result:
    """Create the Secret once the CA exists (which enqueues the Cluster); it is not changed
    later.
    """
    cluster, dependencies = scope.cluster, scope.dependencies
    if cluster.spec.control_plane_ref is not None or not has_endpoint(cluster):
        return DONE
    secrets = dependencies.remote.secrets
    if secrets.raw(secret_key(cluster.key, KUBECONFIG)) is not None:
        return DONE
    authority = await _authority(scope)
    if authority is None:
        return DONE
    endpoint = cluster.spec.control_plane_endpoint
    secret = kubeconfig_secret(
        cluster.key,
        f"https://{_url_host(endpoint.host)}:{endpoint.port}",
        key_pair(authority),
        owner_reference(cluster),
        now=scope.now,
        key=await dependencies.keys.new(),
    )
    try:
        await dependencies.client.create(SECRETS, secret)
    except AlreadyExists:
        return DONE  # created by an attempt whose response was lost, or by a user
    return DONE


async def _authority(scope: ClusterScope) -> Document | None:
    key, dependencies = secret_key(scope.cluster.key, CLUSTER_CA), scope.dependencies
    cached = dependencies.remote.secrets.raw(key)
    if cached is not None:
        return cached
    try:
        return await dependencies.client.get(SECRETS, key)
    except NotFound:
        return None


def _url_host(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
