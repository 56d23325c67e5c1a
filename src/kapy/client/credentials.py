"""TLS contexts from certificates in memory.

Python's `ssl` loads a client's certificate and key only from a file. On systems with anonymous
memory files (Linux) this module uses one, so that a private key never reaches a disk; elsewhere it
uses a file that only its owner can read and that is deleted at once.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import NamedTemporaryFile

from kapy.client.exec_plugin import Credential
from kapy.client.kubeconfig import Kubeconfig, KubeconfigError


def tls_context(access: Kubeconfig, credential: Credential | None = None) -> ssl.SSLContext | bool:
    """Return the TLS context for a server: its CA and the client certificate; True for plain HTTP.

    credential: the credential to present, if it is not the kubeconfig's own. Raises KubeconfigError
    if a certificate or a key cannot be used.
    """
    if access.server.startswith("http://"):
        return True
    certificate, key = access.client_certificate, access.client_key
    if credential is not None:
        certificate, key = credential.certificate, credential.key
    try:
        context = _trust_context(access)
        if certificate:
            with _temporary_file(certificate + b"\n" + key) as path:
                context.load_cert_chain(path)
    except (ssl.SSLError, ValueError):
        # The error only names a failed library call, which does not help users.
        raise KubeconfigError(
            f"the certificates for {access.server} cannot be used: a certificate is not PEM, "
            "or the key does not belong to it"
        ) from None
    return context


def _trust_context(access: Kubeconfig) -> ssl.SSLContext:
    authority = access.certificate_authority.decode("ascii", "replace") or None
    context = ssl.create_default_context(cadata=authority)
    # Python 3.13 rejects CAs that older tools made without a key identifier; Go does not.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["http/1.1"])
    if access.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


@contextmanager
def _temporary_file(pem: bytes) -> Iterator[str]:
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("client", os.MFD_CLOEXEC)
        try:
            os.write(number, pem)
            yield f"/proc/self/fd/{number}"
        finally:
            os.close(number)
        return
    with NamedTemporaryFile(prefix="kapy-") as file:
        file.write(pem)
        file.flush()
        yield file.name
