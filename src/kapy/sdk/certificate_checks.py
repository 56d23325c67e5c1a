"""Check the certificates in a cluster's Secrets before they are used (pure functions).

Users may provide certificates of their own. A certificate that does not fit its key would make
machines fail without any message. No error quotes the contents of a Secret.
"""

from __future__ import annotations

from typing import Final

from kapy.kube.pki import (
    InvalidPem,
    KeyPair,
    has_public_keys,
    holds_public_key,
    is_authority,
    is_matching_pair,
    load,
    public_key,
)
from kapy.remote.secrets import API_SERVER_ETCD_CLIENT, CERTIFICATE, PRIVATE_KEY, SERVICE_ACCOUNT
from kapy.sdk.certificate_specs import ClusterCertificate

_UNREADABLE: Final = f"{CERTIFICATE} holds no certificate in PEM form that can be read"
_NO_AUTHORITY: Final = f"the certificate in {CERTIFICATE} is not one of an authority (CA:TRUE)"
_MISMATCH: Final = f"{PRIVATE_KEY} is not the private key of the certificate in {CERTIFICATE}"
_NO_KEY: Final = f"{PRIVATE_KEY} holds no RSA or EC private key in PEM form that can be read"
_NO_PUBLIC_KEY: Final = f"{CERTIFICATE} holds no public key in PEM form that can be read"
_OTHER_PUBLIC_KEY: Final = f"{PRIVATE_KEY} is not the private key of a public key in {CERTIFICATE}"


def certificate_problem(certificate: ClusterCertificate, pair: KeyPair) -> str:
    """Return what is wrong with a certificate and its key, "" if they are valid. The key may be
    missing, since it may be kept elsewhere.
    """
    if certificate.purpose == SERVICE_ACCOUNT:
        return _public_key_problem(pair)
    try:
        load(pair.certificate)
        signs = not certificate.external and certificate.purpose != API_SERVER_ETCD_CLIENT
        if signs and not is_authority(pair.certificate):
            return _NO_AUTHORITY
    except InvalidPem:
        return _UNREADABLE
    if not pair.key:
        return ""
    try:
        return "" if is_matching_pair(pair) else _MISMATCH
    except InvalidPem:
        return _NO_KEY


def _public_key_problem(pair: KeyPair) -> str:
    """Check a service account key, which has no certificate."""
    if not pair.key:
        return "" if has_public_keys(pair.certificate) else _NO_PUBLIC_KEY
    try:
        public_key(pair.key)
    except InvalidPem:
        return _NO_KEY
    try:
        return "" if holds_public_key(pair.certificate, pair.key) else _OTHER_PUBLIC_KEY
    except InvalidPem:
        return _NO_PUBLIC_KEY
