"""TLS with what runs in pods: its address is of no name that a certificate could be for."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime

from kapy.client.credentials import tls_context
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube.pki import KeyPair


def etcd_context(authority: bytes, client: KeyPair) -> ssl.SSLContext:
    """For an etcd member whose certificate is signed by `authority` (PEM), whatever its name.

    Raises KubeconfigError when the certificates cannot be used.
    """
    found = tls_context(
        Kubeconfig(
            server="https://etcd",
            certificate_authority=authority,
            client_certificate=client.certificate,
            client_key=client.key,
        )
    )
    assert isinstance(found, ssl.SSLContext)
    found.check_hostname = False
    found.set_alpn_protocols(["h2"])
    return found


def curious_context() -> ssl.SSLContext:
    """For looking at the certificate of a server; nothing may be told to it."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def end_of(certificate: bytes) -> datetime:
    """When a certificate (DER, as TLS hands it out) ends."""
    from cryptography.x509 import load_der_x509_certificate

    return load_der_x509_certificate(certificate).not_valid_after_utc.astimezone(UTC)
