"""TLS contexts from PEM in memory; private keys are not written to disk if the system allows it."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


def server_context(
    certificate: bytes, key: bytes, client_ca: bytes | None = None
) -> ssl.SSLContext:
    """Return a server's TLS context: TLS 1.2 or later, optional client certificates.

    client_ca: the CA of client certificates. A client without a certificate may use a token.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    load_certificate(context, certificate, key)
    if client_ca is not None:
        context.load_verify_locations(cadata=client_ca.decode("ascii"))
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def load_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Use this certificate for new connections. Raises ssl.SSLError."""
    with _file(certificate + b"\n" + key) as path:
        context.load_cert_chain(path)


@contextmanager
def _file(content: bytes) -> Iterator[str]:
    """Yield a path from which OpenSSL can read `content`; other users cannot read it."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("certificate", os.MFD_CLOEXEC)
        try:
            os.write(handle, content)
            os.lseek(handle, 0, os.SEEK_SET)
            yield f"/proc/self/fd/{handle}"
        finally:
            os.close(handle)
        return
    with tempfile.NamedTemporaryFile() as file:  # mode 0600
        file.write(content)
        file.flush()
        yield file.name
