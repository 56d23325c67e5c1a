"""Error responses of failed requests."""

from __future__ import annotations

import logging
from typing import Final

from kapy.apiserver.errors import PageNotFound, StorageUnavailable
from kapy.apiserver.resources.kind_errors import SubresourceNotFound
from kapy.apiserver.server.warning_headers import warning_headers
from kapy.apiserver.store.errors import ObjectTooLarge, StoreError
from kapy.kube.errors import ApiError, BadRequest, ServerError, TooLarge
from kapy.kube.http import Reply, Request

_log = logging.getLogger(__name__)

_AUDIT_ID_LIMIT: Final = 64


def error_reply(error: Exception, request: Request) -> Reply:
    """Return the response for an error. An unexpected error is logged, and its response has the
    status 500.
    """
    match error:
        case PageNotFound():
            kind = {"content-type": "text/plain; charset=utf-8"}
            return Reply(404, f"{error.message}\n".encode(), kind)
        case SubresourceNotFound(deprecation=warning) if warning:
            return Reply(error.code, error.status(), {"warning": warning_headers([warning])})
        case ApiError():
            after = error.retry_after
            headers = {} if after is None else {"retry-after": str(int(after))}
            return Reply(error.code, error.status(), headers)
        case RecursionError():
            return Reply(400, BadRequest("the request is nested too deeply").status())
        case ObjectTooLarge():
            return Reply(413, TooLarge(str(error)).status())
        case StoreError():
            return Reply(503, StorageUnavailable(str(error)).status())
        case _:
            name = _request_name(request)
            _log.error("the request %s failed", name, exc_info=error)
            return Reply(500, ServerError("Internal error occurred").status())


def _request_name(request: Request) -> str:
    """Return a description of the request for the log, and mark the request as failed
    unexpectedly.
    """
    arrival = request.arrival
    if arrival is None:
        return f"{request.method} {request.path}"
    arrival.failed = True
    return f"{request.method} {request.path} (audit-ID {arrival.audit_id[:_AUDIT_ID_LIMIT]!r})"
