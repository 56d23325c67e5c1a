"""The request log: one line for each request over the network, like kube-apiserver's.

The level is INFO, for slow requests WARNING. Bodies and sensitive query parameters are not logged.
"""

from __future__ import annotations

import json
import logging
import re
from typing import Final

from kapy.kube.http import Request

_log = logging.getLogger("kapy.apiserver.requests")

SLOW: Final = 1.0
"""Seconds after which a request that is not a watch counts as slow."""

_AUDIT_ID_LIMIT: Final = 64
_SECRET: Final = re.compile(r"token|password|passwd|secret|credential|api_?key", re.IGNORECASE)


def is_enabled() -> bool:
    """Report whether all requests are logged, and not only slow ones."""
    return _log.isEnabledFor(logging.INFO)


def log_request(request: Request, status: int, seconds: float, *, stream: bool = False) -> None:
    """Log a request with its response. stream: whether it is a watch that ended, which is never
    slow.
    """
    slow = seconds > SLOW and not stream
    level = logging.WARNING if slow else logging.INFO
    if not _log.isEnabledFor(level):
        return
    fields = _fields(request, status, seconds)
    text = " ".join(f"{key}={json.dumps(value)}" for key, value in fields.items())
    what = "slow HTTP" if slow else "HTTP"
    _log.log(level, "%s %s", what, text, extra={"event": what, "fields": fields})


def _fields(request: Request, status: int, seconds: float) -> dict[str, str | int]:
    arrival = request.arrival
    assert arrival is not None
    return {
        "verb": request.method,
        "URI": redact_uri(arrival.uri),
        "latency": f"{1000 * seconds:.3f}ms",
        "userAgent": request.headers.get("user-agent", ""),
        "user": request.user.name if request.user is not None else "",
        "audit-ID": arrival.audit_id[:_AUDIT_ID_LIMIT],
        "srcIP": arrival.peer,
        "resp": status,
    }


def redact_uri(uri: str) -> str:
    """Return a request's URI with the values of sensitive parameters replaced by `***`."""
    path, mark, query = uri.partition("?")
    return f"{path}{mark}{'&'.join(map(_redact_parameter, query.split('&')))}"


def _redact_parameter(parameter: str) -> str:
    name, equals, _ = parameter.partition("=")
    return f"{name}=***" if equals and _SECRET.search(name) else parameter
