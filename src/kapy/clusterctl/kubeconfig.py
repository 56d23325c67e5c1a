"""Kubeconfigs of workload clusters: the administrator's, and short-lived ones for single users.

The management plane itself uses the Secret `<cluster>-kubeconfig`, which grants all rights for a
year and should not be shared. A user with read access to the cluster's CA can issue client
certificates with the user name and groups that the workload cluster's RBAC knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address
from urllib.parse import urlsplit

from kapy.client.client import Client
from kapy.client.kubeconfig import KubeconfigError, parse
from kapy.clusterctl.errors import ClusterctlError
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import SECRETS
from kapy.remote.secrets import (
    CLUSTER_CA,
    KUBECONFIG,
    KUBECONFIG_VALUE,
    key_pair,
    secret_key,
    secret_value,
)


class NoKubeconfig(ClusterctlError):
    """There is no such cluster, it has no kubeconfig (yet), or no user kubeconfig can be issued."""


@dataclass(frozen=True)
class Holder:
    """The user of a kubeconfig and its validity."""

    user: str
    groups: Sequence[str]
    valid: timedelta


async def admin_kubeconfig(client: Client, cluster: Key) -> str:
    """Return the kubeconfig of the cluster's Secret. Raises NoKubeconfig, BadSecret, ApiError."""
    secret = await _secret(client, secret_key(cluster, KUBECONFIG))
    value = secret_value(secret, KUBECONFIG_VALUE)
    if value is None:
        raise NoKubeconfig(f"the Secret {Key.of(secret)} has no kubeconfig in it")
    return value.decode()


async def own_kubeconfig(client: Client, cluster: Key, holder: Holder, *, now: datetime) -> str:
    """Return a kubeconfig with a new client certificate for `holder`, signed by the cluster's CA.

    Raises NoKubeconfig if the CA's key is not stored in the management cluster, BadSecret,
    InvalidPem, ApiError.
    """
    from kapy.remote.kubeconfig_secret import personal_kubeconfig

    secret = await _secret(client, secret_key(cluster, KUBECONFIG))
    ca = key_pair(await _secret(client, secret_key(cluster, CLUSTER_CA)))
    if not ca.key:
        raise NoKubeconfig(
            f"the Secret {secret_key(cluster, CLUSTER_CA)} has no key of the cluster's CA: the "
            "certificate must come from who keeps it"
        )
    return personal_kubeconfig(
        secret,
        cluster.name,
        ca,
        user=holder.user,
        groups=holder.groups,
        valid=holder.valid,
        now=now,
    )


def may_be_hidden(text: str) -> bool:
    """Return whether a kubeconfig names a server on another computer, or in a network of this
    one.
    """
    try:
        host = urlsplit(parse(text).server).hostname or ""
    except (KubeconfigError, ValueError):
        return False
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"


async def _secret(client: Client, key: Key) -> Document:
    try:
        return await client.get(SECRETS, key)
    except NotFound as error:
        # clusterctl's sentence, and a hint.
        raise NoKubeconfig(
            f'"{key.name}" not found in namespace "{key.namespace}": {error}; '
            "`kubectl get clusters -A` lists the clusters that there are"
        ) from None
