"""The discovery configuration by which a joining machine finds and verifies the cluster.

User settings are kept; missing parts are filled in: the API server's address, the hashes of the
cluster's CA, and a bootstrap token.
"""

from __future__ import annotations

from base64 import b64encode

from kapy.api.cluster import Cluster
from kapy.api.kubeadm_discovery import (
    BootstrapTokenDiscovery,
    FileDiscovery,
    FileDiscoveryKubeConfig,
)
from kapy.kube import Document
from kapy.kube.pki import KeyPair, public_key_hashes
from kapy.kube.yaml import dump
from kapy.providers.kubeadm.bootstrap.scope import Scope
from kapy.remote.cluster_cache import NotConnected

EXEC_API_VERSION = "client.authentication.k8s.io/v1"


class NoEndpoint(NotConnected):
    """The Cluster has no control plane endpoint yet; it is watched."""


def endpoint_of(cluster: Cluster) -> str:
    """`host:port` of the control plane, "" while it is unknown."""
    endpoint = cluster.spec.control_plane_endpoint
    if not (endpoint.host and endpoint.port):
        return ""
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{host}:{endpoint.port}"


async def complete_join(scope: Scope, ca: KeyPair) -> None:
    """Complete `spec.joinConfiguration.discovery`.

    Raises NoEndpoint or NotConnected while the endpoint or the connection is missing; a change of
    either triggers a reconcile.
    """
    discovery = scope.config.spec.join_configuration.discovery
    if discovery.file is not None:
        if discovery.file.kube_config is not None:
            _complete_file(discovery.file.kube_config, scope.cluster, ca)
        return
    token = discovery.bootstrap_token
    if not token.ca_cert_hashes:
        token.ca_cert_hashes = public_key_hashes(ca.certificate)
    if not token.api_server_endpoint:
        token.api_server_endpoint = _endpoint(scope.cluster)
    if not token.token:
        await _make_token(scope, token)


async def _make_token(scope: Scope, discovery: BootstrapTokenDiscovery) -> None:
    client = scope.dependencies.remote.client(scope.cluster.key)
    discovery.token = await scope.dependencies.tokens.create(client, scope.workload_now)


def _complete_file(config: FileDiscoveryKubeConfig, cluster: Cluster, ca: KeyPair) -> None:
    if not config.cluster.server:
        config.cluster.server = f"https://{_endpoint(cluster)}"
    if not config.cluster.certificate_authority_data:
        config.cluster.certificate_authority_data = b64encode(ca.certificate).decode()


def _endpoint(cluster: Cluster) -> str:
    endpoint = endpoint_of(cluster)
    if not endpoint:
        raise NoEndpoint(f"Cluster {cluster.key} has no control plane endpoint yet")
    return endpoint


def kubeconfig_file(discovery: FileDiscovery) -> Document | None:
    """Return the kubeconfig of `discovery.file` as a file of the machine; None if the user supplies
    the file.
    """
    config = discovery.kube_config
    if config is None:
        return None
    cluster = {
        "server": config.cluster.server,
        "tls-server-name": config.cluster.tls_server_name,
        "insecure-skip-tls-verify": config.cluster.insecure_skip_tls_verify,
        "certificate-authority-data": config.cluster.certificate_authority_data,
        "proxy-url": config.cluster.proxy_url,
    }
    text = dump(
        {
            "clusters": [{"name": "default", "cluster": {k: v for k, v in cluster.items() if v}}],
            "contexts": [{"name": "default", "context": {"cluster": "default", "user": "default"}}],
            "current-context": "default",
            "users": [{"name": "default", "user": _user(config)}],
        }
    )
    return {
        "path": discovery.kube_config_path,
        "owner": "root:root",
        "permissions": "0640",
        "content": text,
    }


def _user(config: FileDiscoveryKubeConfig) -> Document:
    user: Document = {}
    if (provider := config.user.auth_provider) is not None:
        user["auth-provider"] = {"name": provider.name, "config": provider.config or None}
    if (plugin := config.user.exec) is not None:
        user["exec"] = {
            "command": plugin.command,
            "args": plugin.args or None,
            "env": [
                {"name": auth_exec_env.name, "value": auth_exec_env.value}
                for auth_exec_env in plugin.env
            ]
            or None,
            "apiVersion": plugin.api_version or EXEC_API_VERSION,
            "provideClusterInfo": bool(plugin.provide_cluster_info),
            "interactiveMode": "Never",
        }
    return user
