"""The kubeconfig Secret of a cluster: issued by the cluster's CA, renewed at half its life.

All functions here are pure computations; some generate a key, so call them from a thread.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from kapy.client.kubeconfig import Kubeconfig, KubeconfigError, parse
from kapy.kube import Document, Key
from kapy.kube.meta import OwnerReference
from kapy.kube.pki import Algorithm, InvalidPem, KeyPair, facts, issue
from kapy.kube.yaml import YamlError, dump, load
from kapy.remote.secrets import (
    KUBECONFIG,
    KUBECONFIG_VALUE,
    BadSecret,
    cluster_secret,
    secret_name,
    secret_value,
)

CLIENT_CERTIFICATE_LIFE: Final = timedelta(days=365)
RENEWED_BEFORE_END: Final = CLIENT_CERTIFICATE_LIFE / 2
_NEVER: Final = timedelta(days=36_500)


def kubeconfig_secret(
    cluster: Key,
    server: str,
    ca: KeyPair,
    owner: OwnerReference,
    *,
    now: datetime,
    algorithm: Algorithm = "RSA-2048",
    key: bytes | None = None,
) -> Document:
    """Return a new kubeconfig Secret for the cluster's administrator.

    server: the URL of the cluster's API server. Raises InvalidPem if the CA cannot sign.
    """
    text = kubeconfig(cluster.name, server, ca, now=now, algorithm=algorithm, key=key)
    name = secret_name(cluster.name, KUBECONFIG)
    return cluster_secret(name, cluster, {KUBECONFIG_VALUE: text.encode()}, owner)


def renewed_data(
    secret: Document,
    cluster: str,
    ca: KeyPair,
    *,
    now: datetime,
    algorithm: Algorithm = "RSA-2048",
    key: bytes | None = None,
) -> Document:
    """Return `data` with a new certificate for the same server. Raises BadSecret, InvalidPem."""
    server = _server(_config(secret), cluster)
    text = kubeconfig(cluster, server, ca, now=now, algorithm=algorithm, key=key)
    return {KUBECONFIG_VALUE: b64encode(text.encode()).decode()}


def moved_data(secret: Document, cluster: str, server: str) -> Document | None:
    """Return `data` with another URL of the API server; None if the kubeconfig has it already.
    Raises BadSecret.
    """
    config = _config(secret)
    if _server(config, cluster) == server:
        return None
    clusters = [
        {**item, "cluster": {**item["cluster"], "server": server}}
        if item.get("name") == cluster
        else item
        for item in config["clusters"]
    ]
    text = dump({**config, "clusters": clusters})
    return {KUBECONFIG_VALUE: b64encode(text.encode()).decode()}


def needs_renewal(secret: Document, now: datetime) -> bool:
    """Return whether a client certificate of the kubeconfig is past half of its life. Raises
    BadSecret.
    """
    return next_renewal(secret) <= now


def next_renewal(secret: Document) -> datetime:
    """Return when the first client certificate of the kubeconfig passes half of its life.

    A certificate that ends with its authority is not renewed: a new one would end at the same time.
    Raises BadSecret.
    """
    config = _config(secret)
    users = config.get("users") or []
    ends = [_end(secret, (user.get("user") or {}).get("client-certificate-data")) for user in users]
    if not ends:
        raise BadSecret(f"Secret {Key.of(secret)}: the kubeconfig has no users")
    end = min(ends)
    authority = _authority_end(config)
    if authority is not None and end >= authority:
        return end + _NEVER
    return end - RENEWED_BEFORE_END


def _authority_end(config: Document) -> datetime | None:
    """Return when the CA of the kubeconfig's first cluster expires, None if it is unknown."""
    try:
        cluster = (config.get("clusters") or [{}])[0].get("cluster") or {}
        return facts(b64decode(cluster.get("certificate-authority-data") or b"")).not_after
    except (InvalidPem, NotBase64, AttributeError, TypeError, KeyError):
        return None


def kubeconfig(
    cluster: str,
    server: str,
    ca: KeyPair,
    *,
    now: datetime,
    algorithm: Algorithm = "RSA-2048",
    key: bytes | None = None,
) -> str:
    """Return the kubeconfig of `kubernetes-admin`, a member of system:masters, as YAML.

    key: an unused private key, None to generate one here.
    """
    client = issue(
        ca,
        "kubernetes-admin",
        now=now,
        organizations=["system:masters"],
        valid=CLIENT_CERTIFICATE_LIFE,
        algorithm=algorithm,
        key=key,
    )
    return _kubeconfig(cluster, server, ca.certificate, f"{cluster}-admin", client)


def personal_kubeconfig(
    secret: Document,
    cluster: str,
    ca: KeyPair,
    *,
    user: str,
    groups: Sequence[str],
    valid: timedelta,
    now: datetime,
) -> str:
    """Return a kubeconfig with a client certificate of a user for the server of the cluster's
    Secret.

    user, groups: the identity in the workload cluster, which still has to grant rights. Raises
    BadSecret, InvalidPem.
    """
    server = _server(_config(secret), cluster)
    client = issue(ca, user, now=now, organizations=groups, valid=valid, algorithm="ECDSA-P256")
    return _kubeconfig(cluster, server, ca.certificate, user, client)


def _kubeconfig(cluster: str, server: str, ca: bytes, user: str, client: KeyPair) -> str:
    context = f"{user}@{cluster}"
    return dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": cluster,
                    "cluster": {
                        "server": server,
                        "certificate-authority-data": b64encode(ca).decode(),
                    },
                }
            ],
            "contexts": [{"name": context, "context": {"cluster": cluster, "user": user}}],
            "current-context": context,
            "users": [
                {
                    "name": user,
                    "user": {
                        "client-certificate-data": b64encode(client.certificate).decode(),
                        "client-key-data": b64encode(client.key).decode(),
                    },
                }
            ],
        }
    )


def access(secret: Document) -> Kubeconfig:
    """Return the connection data of the kubeconfig in the Secret. Raises BadSecret."""
    text = secret_value(secret, KUBECONFIG_VALUE)
    if text is None:
        raise BadSecret(f'Secret {Key.of(secret)}: missing key "{KUBECONFIG_VALUE}" in secret data')
    try:
        return parse(text, f"Secret {Key.of(secret)}")
    except KubeconfigError as error:
        raise BadSecret(str(error)) from None


def _config(secret: Document) -> dict[str, Any]:
    text = secret_value(secret, KUBECONFIG_VALUE)
    if text is None:
        raise BadSecret(f'Secret {Key.of(secret)}: missing key "{KUBECONFIG_VALUE}" in secret data')
    try:
        config = load(text)
    except YamlError:  # its message may quote the text
        config = None
    if not isinstance(config, dict):
        raise BadSecret(f"Secret {Key.of(secret)}: the kubeconfig cannot be read")
    return config


def _server(config: dict[str, Any], cluster: str) -> str:
    for item in config.get("clusters") or []:
        if item.get("name") == cluster:
            return str((item.get("cluster") or {}).get("server", ""))
    raise BadSecret(f'the kubeconfig has no cluster "{cluster}"')


def _end(secret: Document, certificate: Any) -> datetime:
    try:
        return facts(b64decode(certificate or b"")).not_after
    except (InvalidPem, NotBase64):
        raise BadSecret(
            f"Secret {Key.of(secret)}: failed to decode kubeconfig client certificate"
        ) from None
