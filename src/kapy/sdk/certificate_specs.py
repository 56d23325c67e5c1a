"""The certificates that a management plane creates for a cluster.

Cluster API creates the CAs itself and keeps them in Secrets (`kapy.remote.secrets`), so that every
control plane machine gets the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from kapy.kube.pki import Algorithm, KeyPair, new_ca, public_key
from kapy.remote.secrets import SERVICE_ACCOUNT

CA_LIFE: Final = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class ClusterCertificate:
    """One certificate of a cluster.

    purpose: as in the Secret's name. external: created by the user (external etcd). life,
    algorithm: for its creation.
    """

    purpose: str
    external: bool = field(default=False, kw_only=True)
    life: timedelta = field(default=CA_LIFE, kw_only=True)
    algorithm: Algorithm = field(default="RSA-2048", kw_only=True)


def new_key_pair(certificate: ClusterCertificate, now: datetime, key: bytes) -> KeyPair:
    """Return a new certificate with its key; for service accounts a public key without a
    certificate, with its private key.
    """
    if certificate.purpose == SERVICE_ACCOUNT:
        return KeyPair(public_key(key), key)
    return new_ca("kubernetes", now=now, valid=certificate.life, key=key)
