"""The certificates of a kubeadm cluster, and their files on a machine.

The SDK's `Keychain` creates the CAs and stores them in Secrets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from posixpath import join
from typing import Final

from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.pki import Algorithm, KeyPair
from kapy.remote.secrets import (
    API_SERVER_ETCD_CLIENT,
    CLUSTER_CA,
    ETCD_CA,
    FRONT_PROXY_CA,
    SERVICE_ACCOUNT,
)
from kapy.sdk.certificates import CA_LIFE, ClusterCertificate

DEFAULT_DIRECTORY: Final = "/etc/kubernetes/pki"
_FILE_ORDER: Final = (CLUSTER_CA, ETCD_CA, FRONT_PROXY_CA, SERVICE_ACCOUNT, API_SERVER_ETCD_CLIENT)


class MissingCertificate(KapyError):
    """A required certificate does not exist or is incomplete; the message quotes none of it."""


@dataclass(frozen=True, slots=True)
class Certificate(ClusterCertificate):
    """One certificate that a machine needs, and its file paths."""

    cert_file: str
    key_file: str = ""


def init_certificates(configuration: Document) -> list[Certificate]:
    """Return the certificates of the first control plane machine, by its `clusterConfiguration`."""
    days = configuration.get("caCertificateValidityPeriodDays")
    return _certificates(
        configuration,
        life=timedelta(days=days) if days else CA_LIFE,
        algorithm=configuration.get("encryptionAlgorithm") or "RSA-2048",
    )


def join_certificates(configuration: Document) -> list[Certificate]:
    """Return the certificates of another control plane machine; they exist already."""
    return _certificates(configuration)


def worker_certificates(ca_cert_path: str) -> list[Certificate]:
    """Return the certificates that a worker needs: only the CA, by which it verifies the
    cluster.
    """
    return [Certificate(CLUSTER_CA, ca_cert_path or join(DEFAULT_DIRECTORY, "ca.crt"))]


def _certificates(
    configuration: Document, *, life: timedelta = CA_LIFE, algorithm: Algorithm = "RSA-2048"
) -> list[Certificate]:
    directory = configuration.get("certificatesDir") or DEFAULT_DIRECTORY

    def ours(purpose: str, cert_file: str, key_file: str) -> Certificate:
        files = join(directory, cert_file), join(directory, key_file)
        return Certificate(purpose, *files, life=life, algorithm=algorithm)

    certificates = [
        ours(CLUSTER_CA, "ca.crt", "ca.key"),
        ours(SERVICE_ACCOUNT, "sa.pub", "sa.key"),
        ours(FRONT_PROXY_CA, "front-proxy-ca.crt", "front-proxy-ca.key"),
    ]
    external = (configuration.get("etcd") or {}).get("external")
    if not external:
        return [*certificates, ours(ETCD_CA, "etcd/ca.crt", "etcd/ca.key")]
    client = external.get("certFile", ""), external.get("keyFile", "")
    return [
        *certificates,
        Certificate(API_SERVER_ETCD_CLIENT, *client, external=True),
        Certificate(ETCD_CA, external.get("caFile", ""), external=True),
    ]


def ensure_complete(certificates: Iterable[Certificate], pairs: Mapping[str, KeyPair]) -> None:
    """Raise MissingCertificate unless each certificate (and key, if it is ours) is in `pairs`."""
    for certificate in certificates:
        pair = pairs.get(certificate.purpose)
        if pair is None:
            raise MissingCertificate(f"missing certificate: {certificate.purpose}")
        if not pair.certificate:
            raise MissingCertificate(f"missing crt data: for certificate: {certificate.purpose}")
        if not certificate.external and not pair.key:
            raise MissingCertificate(f"missing key data: for certificate: {certificate.purpose}")


def certificate_files(
    certificates: Iterable[Certificate], pairs: Mapping[str, KeyPair]
) -> list[Document]:
    """Return the files of the existing certificates, as in `KubeadmConfig.spec.files`."""
    by_purpose = {certificate.purpose: certificate for certificate in certificates}
    files: list[Document] = []
    for purpose in _FILE_ORDER:
        certificate, pair = by_purpose.get(purpose), pairs.get(purpose)
        if certificate is None or pair is None:
            continue
        if pair.certificate:
            files.append(_file(certificate.cert_file, "0640", pair.certificate))
        if pair.key:
            files.append(_file(certificate.key_file, "0600", pair.key))
    return files


def _file(path: str, permissions: str, content: bytes) -> Document:
    return {
        "path": path,
        "owner": "root:root",
        "permissions": permissions,
        "content": content.decode(),
    }
