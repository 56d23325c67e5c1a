"""`caBundle`: the certificates that a webhook's own must be signed by."""

from __future__ import annotations

import re
import warnings
from base64 import b64decode
from binascii import Error
from typing import Final

from cryptography import x509
from cryptography.utils import CryptographyDeprecationWarning

_BLOCK: Final = re.compile(
    rb"^-----BEGIN ([^\n]*?)-----[ \t]*\r?\n(.*?)^-----END \1-----", re.DOTALL | re.MULTILINE
)
_LOAD: Final = "unable to load root certificates"


def _load(certificate: bytes) -> None:
    with warnings.catch_warnings():  # serial numbers that Go takes
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        x509.load_der_x509_certificate(certificate)


def bundle_problem(bundle: bytes) -> str:
    """Why a bundle holds no certificate, in the words of Go's client; "" when it holds one, or
    nothing at all: then the system's authorities count."""
    if not bundle:
        return ""
    problem = ""
    found = rest = 0
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
            found += 1
    if found:
        return ""
    if problem:
        return problem
    if bundle[rest:]:
        return f"{_LOAD}: unable to parse bytes as PEM block"
    return f"{_LOAD}: no valid certificate authority data seen"
