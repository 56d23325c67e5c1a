"""Why no answer came, in words for people."""

from __future__ import annotations

import os
import ssl
from typing import Final

import aiohttp

NO_ANSWER: Final = (aiohttp.ClientError, TimeoutError, OSError, ValueError)
"""Exceptions that mean that no answer came."""

_HUNG_UP: Final = "the other side hung up"
_DESCRIPTIONS: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (TimeoutError, "no answer in time"),
    (aiohttp.ServerDisconnectedError, _HUNG_UP),
    (aiohttp.ClientPayloadError, f"{_HUNG_UP} in the middle of its answer"),
)


def describe_failure(error: BaseException) -> str:
    """Describe in a few words why no response came."""
    for kind, words in _DESCRIPTIONS:
        if isinstance(error, kind):
            return words
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return f"its certificate is not trusted: {_tls_failure(error.certificate_error)}"
        case aiohttp.ClientHttpProxyError():
            return f"its proxy answered {error.status} {error.message}"
        case aiohttp.ClientProxyConnectionError():
            return f"its proxy cannot be reached: {error.os_error.strerror or error.os_error}"
        case aiohttp.ClientConnectorError():
            return _connection_failure(error.os_error)
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted: {_tls_failure(error)}"
        case OSError() if not isinstance(error, aiohttp.ClientError):
            return _connection_failure(error)
    return str(error) or type(error).__name__


def _tls_failure(error: Exception) -> str:
    reason = getattr(error, "verify_message", "") if isinstance(error, ssl.SSLError) else ""
    return str(reason or error)


def _connection_failure(error: OSError) -> str:
    reason = error.strerror or str(error) or _HUNG_UP
    # asyncio's message repeats the address instead of the cause.
    return os.strerror(error.errno or 0) if reason.startswith("Connect call failed") else reason
