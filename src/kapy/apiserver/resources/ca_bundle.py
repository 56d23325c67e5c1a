"""`caBundle`: the CA certificates that the server trusts for a webhook."""

from __future__ import annotations

import re
import warnings
from base64 import b64decode
from binascii import Error
from typing import Final

_BLOCK: Final = re.compile(
    rb"^-----BEGIN ([^\n]*?)-----[ \t]*\r?\n(.*?)^-----END \1-----", re.DOTALL | re.MULTILINE
)
_LOAD: Final = "unable to load root certificates"


def _load(certificate: bytes) -> None:
    # Few API servers see a certificate here, and each start would pay for the import.
    from cryptography import x509
    from cryptography.utils import CryptographyDeprecationWarning

    with warnings.catch_warnings():  # Go accepts such serial numbers
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        x509.load_der_x509_certificate(certificate)


def bundle_problem(bundle: bytes) -> str:
    """Return the error of Go's client for a bundle without certificates, "" if it is valid.

    An empty bundle is valid: the system's CAs are then trusted.
    """
    if not bundle:
        return ""
    problem = ""
    result = rest = 0
    for block in _BLOCK.finditer(bundle):
        rest = block.end()
        if block[1] != b"CERTIFICATE" or b":" in block[2]:
            continue
        try:
            _load(b64decode(b"".join(block[2].split()), validate=True))
        except (Error, ValueError):
            problem = (
                problem or f"{_LOAD}: failed to parse certificate: x509: malformed certificate"
            )
        else:
            result += 1
    if result:
        return ""
    if problem:
        return problem
    if bundle[rest:]:
        return f"{_LOAD}: unable to parse bytes as PEM block"
    return f"{_LOAD}: no valid certificate authority data seen"
