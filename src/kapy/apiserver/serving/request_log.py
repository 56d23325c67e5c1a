"""One line for each request over the network, in the words of kube-apiserver's log.

A request is said at level INFO, one that took long at WARNING. Nothing is said of bodies, nor of
what a query may give away.
"""

from __future__ import annotations

import json
import logging
import re
from typing import Final

from kapy.kube.http import Request

_log = logging.getLogger("kapy.apiserver.requests")

SLOW: Final = 1.0
"""Seconds from which on a request (no watch) took long."""

_AUDIT_ID_LIMIT: Final = 64
_SECRET: Final = re.compile(r"token|password|passwd|secret|credential|api_?key", re.IGNORECASE)


def answered(request: Request, status: int, seconds: float, *, stream: bool = False) -> None:
    """Say that a request was answered. stream: a watch ended, which may take its time."""
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
        "URI": without_secrets(arrival.uri),
        "latency": f"{1000 * seconds:.3f}ms",
        "userAgent": request.headers.get("user-agent", ""),
        "user": request.user.name if request.user is not None else "",
        "audit-ID": arrival.audit_id[:_AUDIT_ID_LIMIT],
        "srcIP": arrival.peer,
        "resp": status,
    }


def without_secrets(uri: str) -> str:
    """A request's URI in which the values of parameters that sound secret are `***`."""
    path, mark, query = uri.partition("?")
    return f"{path}{mark}{'&'.join(map(_shown, query.split('&')))}"


def _shown(parameter: str) -> str:
    name, equals, _ = parameter.partition("=")
    return f"{name}=***" if equals and _SECRET.search(name) else parameter
