"""TLS contexts for servers in pods, whose address matches no name in their certificate."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime

from kapy.client.credentials import tls_context
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube.pki import KeyPair


def etcd_context(authority: bytes, client: KeyPair) -> ssl.SSLContext:
    """Return a context for etcd members with certificates signed by `authority` (PEM), whatever
    their name.

    Raises KubeconfigError if the certificates cannot be used.
    """
    context = tls_context(
        Kubeconfig(
            server="https://etcd",
            certificate_authority=authority,
            client_certificate=client.certificate,
            client_key=client.key,
        )
    )
    assert isinstance(context, ssl.SSLContext)
    context.check_hostname = False
    context.set_alpn_protocols(["h2"])
    return context


def inspection_context() -> ssl.SSLContext:
    """Return a context for inspecting a server's certificate; send nothing confidential over it."""
    # Nothing is verified, so that the system's certificate authorities need not be read.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def end_of(certificate: bytes) -> datetime:
    """Return when a certificate (DER, from TLS) expires."""
    from cryptography.x509 import load_der_x509_certificate

    return load_der_x509_certificate(certificate).not_valid_after_utc.astimezone(UTC)
