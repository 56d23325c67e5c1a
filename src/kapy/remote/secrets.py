"""The Secrets that hold a cluster's certificates and kubeconfig: names, formats, contents.

Upstream's rule (`util/secret`): `<cluster>-<purpose>`, type `cluster.x-k8s.io/secret`, labelled
with the cluster's name. Certificates are stored under `tls.crt` and `tls.key`, a kubeconfig under
`value`.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import Final

from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.go_literals import go_quoted
from kapy.kube.meta import OwnerReference
from kapy.kube.model import encode
from kapy.kube.pki import KeyPair

KUBECONFIG: Final = "kubeconfig"
CLUSTER_CA: Final = "ca"
ETCD_CA: Final = "etcd"
SERVICE_ACCOUNT: Final = "sa"
FRONT_PROXY_CA: Final = "proxy"
API_SERVER_ETCD_CLIENT: Final = "apiserver-etcd-client"

PURPOSES: Final = (
    KUBECONFIG,
    CLUSTER_CA,
    ETCD_CA,
    SERVICE_ACCOUNT,
    FRONT_PROXY_CA,
    API_SERVER_ETCD_CLIENT,
)

SECRET_TYPE: Final = "cluster.x-k8s.io/secret"
CLUSTER_NAME_LABEL: Final = "cluster.x-k8s.io/cluster-name"
CERTIFICATE: Final = "tls.crt"
PRIVATE_KEY: Final = "tls.key"
KUBECONFIG_VALUE: Final = "value"


class BadSecret(KapyError):
    """A cluster's Secret lacks a value or has an invalid one. The message never contains
    the value.
    """


class UnusableSecrets(KapyError):
    """Secrets of a cluster have unusable contents. problems: a line for each.

    is_watched: whether changes of all of them are watched.
    """

    def __init__(self, problems: Iterable[str], *, is_watched: bool = True) -> None:
        self.problems = tuple(problems)
        self.is_watched = is_watched
        super().__init__("; ".join(self.problems))


class InvalidSecretName(KapyError):
    """The name does not have the form `<cluster>-<purpose>`."""


def secret_name(cluster: str, purpose: str) -> str:
    """Return the name of a cluster's Secret: `<cluster>-<purpose>`."""
    return f"{cluster}-{purpose}"


def secret_key(cluster: Key, purpose: str) -> Key:
    """Return the key of the cluster's Secret with that purpose."""
    return Key(cluster.namespace, secret_name(cluster.name, purpose))


def parse_secret_name(name: str) -> tuple[str, str]:
    """Return cluster name and purpose. Raises InvalidSecretName.

    It splits at the last dash as upstream does, so that `apiserver-etcd-client`, which contains
    dashes itself, is never recognized.
    """
    cluster, dash, purpose = name.rpartition("-")
    result = f"{go_quoted(name)} is not a valid cluster secret name. "
    if not dash:
        raise InvalidSecretName(result + "The purpose suffix is missing")
    if purpose not in PURPOSES:
        raise InvalidSecretName(result + "Invalid purpose suffix")
    return cluster, purpose


def has_purpose_suffix(name: str) -> bool:
    """Return whether the name ends like a cluster Secret's name."""
    return any(name.endswith(f"-{purpose}") for purpose in PURPOSES)


def cluster_secret(
    name: str,
    cluster: Key,
    data: Mapping[str, bytes],
    owner: OwnerReference | None = None,
) -> Document:
    """Return a Secret of the cluster, ready to be created."""
    metadata: Document = {
        "name": name,
        "namespace": cluster.namespace,
        "labels": {CLUSTER_NAME_LABEL: cluster.name},
    }
    if owner is not None:
        metadata["ownerReferences"] = [encode(owner)]
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": SECRET_TYPE,
        "data": {field: b64encode(value).decode() for field, value in data.items()},
    }


def certificate_secret(
    cluster: Key, purpose: str, pair: KeyPair, owner: OwnerReference | None = None
) -> Document:
    """Return the Secret that keeps a certificate and its key."""
    data = {CERTIFICATE: pair.certificate, PRIVATE_KEY: pair.key}
    return cluster_secret(secret_name(cluster.name, purpose), cluster, data, owner)


def secret_value(secret: Document, field: str) -> bytes | None:
    """Return one decoded value, None if there is none. Raises BadSecret if it is not base64."""
    value = (secret.get("data") or {}).get(field)
    if value is None:
        return None
    try:
        return b64decode(value, validate=True)
    except ValueError:
        raise BadSecret(f"Secret {Key.of(secret)}: {field} is not base64") from None


def key_pair(secret: Document) -> KeyPair:
    """Return certificate and key of a Secret; the key may be missing (external etcd). Raises
    BadSecret.
    """
    certificate = secret_value(secret, CERTIFICATE)
    if certificate is None:
        raise BadSecret(f"Secret {Key.of(secret)}: missing data for key {CERTIFICATE}")
    return KeyPair(certificate, secret_value(secret, PRIVATE_KEY) or b"")


def secret_problem(secret: Document, problem: str) -> str:
    """Return a problem with the name of its Secret, and whether changes of the Secret are
    watched.
    """
    text = f"Secret {Key.of(secret)}: {problem}"
    if is_watched(secret):
        return text
    return f"{text} (the Secret lacks the label {CLUSTER_NAME_LABEL}: its changes are noticed late)"


def is_watched(secret: Document) -> bool:
    """Return whether changes of the Secret are watched."""
    return CLUSTER_NAME_LABEL in (secret["metadata"].get("labels") or {})
