"""
The exception tree of everything that speaks to an API server. Catch the narrowest that you can
act on.

* KapyError                     every error that kapy raises on purpose
  + ApiError                    an API server answered with a Status (or is the one answering)
    - BadRequest                400
    - Unauthorized              401
    - Forbidden                 403
    - NotFound                  404
    - MethodNotAllowed          405
    - NotAcceptable             406
    - AlreadyExists             409, reason AlreadyExists
    - Conflict                  409, reason Conflict: read again, then retry
    - Expired                   410: list again
    - TooLarge                  413
    - UnsupportedMediaType      415
    - Invalid                   422, carries the field causes
    - TooManyRequests           429, may carry retry_after
    - ServerError               5xx, may carry retry_after
  + Unreachable                 no answer: refused, reset, timed out, not TLS
  + ContractError (kapy.contract), and each package's own
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from kapy.kube import Document

if TYPE_CHECKING:
    from kapy.kube.field_errors import FieldError


MAX_MESSAGE: Final = 4096
"""Characters of an error's text, about. Many errors quote a value of somebody else, of any length,
and most of them become a condition, an Event or a log line."""


class KapyError(Exception):
    """Base of every error this package raises on purpose. Its text is of a limited length."""

    def __str__(self) -> str:
        return shorten(super().__str__())


def shorten(text: str) -> str:
    """Return a text without the middle of a part that is too long for a message."""
    if len(text) <= MAX_MESSAGE:
        return text
    half = MAX_MESSAGE // 2
    return f"{text[:half]}… ({len(text) - 2 * half} characters) …{text[-half:]}"


class Unreachable(KapyError):
    """The server did not answer: the outcome of a write is unknown."""


class ApiError(KapyError):
    """An API server answered with a Status of kind Failure.

    message: the server's message. details: `status.details`, or None. retry_after: seconds from the
    Retry-After header, or None.
    """

    code: ClassVar[int] = 500
    reason: ClassVar[str] = "InternalError"

    def __init__(
        self,
        message: str,
        *,
        details: Document | None = None,
        retry_after: float | None = None,
        status: Document | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.retry_after = retry_after
        self._status = status

    def status(self) -> Document:
        """Return the `Status` document of this error, as a server sends it."""
        if self._status is not None:
            return self._status
        status: Document = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
        }
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


class BadRequest(ApiError):
    """The request itself is malformed (400)."""

    code = 400
    reason = "BadRequest"


class Unauthorized(ApiError):
    """The credentials are not accepted (401)."""

    code = 401
    reason = "Unauthorized"


class Forbidden(ApiError):
    """The user may not do this (403)."""

    code = 403
    reason = "Forbidden"


class NotFound(ApiError):
    """The object or the resource is not there (404)."""

    code = 404
    reason = "NotFound"


class MethodNotAllowed(ApiError):
    """The resource has no such verb (405)."""

    code = 405
    reason = "MethodNotAllowed"


class NotAcceptable(ApiError):
    """The server supports none of the accepted media types (406)."""

    code = 406
    reason = "NotAcceptable"


class AlreadyExists(ApiError):
    """An object of that name is there already (409)."""

    code = 409
    reason = "AlreadyExists"


class Conflict(ApiError):
    """The object changed since it was read, or a field has another owner (409)."""

    code = 409
    reason = "Conflict"


class Expired(ApiError):
    """The resourceVersion or the continue token is too old (410)."""

    code = 410
    reason = "Expired"


class TooLarge(ApiError):
    """The body is too large (413)."""

    code = 413
    reason = "RequestEntityTooLarge"


class UnsupportedMediaType(ApiError):
    """The body's media type is not understood (415)."""

    code = 415
    reason = "UnsupportedMediaType"


class Invalid(ApiError):
    """The object broke its schema or a validation rule (422)."""

    code = 422
    reason = "Invalid"

    @classmethod
    def of(cls, kind: str, group: str, name: str, errors: Sequence[FieldError]) -> Invalid:
        """Return one error for all field errors of an object, with kube-apiserver's message."""
        from kapy.kube.field_errors import MAX_ERRORS  # imports dataclasses: slow for commands

        causes = _causes(errors)
        lines = list(dict.fromkeys(f"{cause['field']}: {cause['message']}" for cause in causes))
        if len(causes) >= MAX_ERRORS or len(causes) < len(errors):
            lines.append(f"and more: only the first {len(causes)} are shown")
        many = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
        qualified = f"{kind}.{group}" if group else kind
        details: Document = {"name": name} if name else {}
        if group:
            details["group"] = group
        details["kind"] = kind
        details["causes"] = causes
        return cls(f'{qualified} "{name}" is invalid: {many}', details=details)


def _causes(errors: Sequence[FieldError]) -> list[Document]:
    """Return the causes of a Status: the errors, up to a limit of number and length."""
    from kapy.kube.field_errors import MAX_ERRORS, MAX_TEXT

    causes: list[Document] = []
    room = MAX_TEXT
    for error in errors[:MAX_ERRORS]:
        cause = error.cause()
        causes.append(cause)
        room -= len(cause["message"]) + len(cause["field"])
        if room < 0:
            break
    return causes


class TooManyRequests(ApiError):
    """The server limits requests; retry later (429)."""

    code = 429
    reason = "TooManyRequests"


class ServerError(ApiError):
    """The server failed (5xx); the outcome of a write is unknown."""


REFUSED: Final = (BadRequest, Forbidden, Invalid)
"""Errors after which a write was certainly not executed and will not succeed on a retry. After any
other error it may have been executed, so that its dependencies must stay.
"""

_BY_CODE: dict[int, type[ApiError]] = {
    cls.code: cls
    for cls in (
        BadRequest,
        Unauthorized,
        Forbidden,
        NotFound,
        MethodNotAllowed,
        NotAcceptable,
        Conflict,
        Expired,
        TooLarge,
        UnsupportedMediaType,
        Invalid,
        TooManyRequests,
    )
}


def error_of(code: int, status: Document, *, retry_after: float | None = None) -> ApiError:
    """Return the exception for a Failure `Status` with this HTTP code."""
    cls = _BY_CODE.get(code, ServerError)
    if code == 409 and status.get("reason") == "AlreadyExists":
        cls = AlreadyExists
    message = str(status.get("message") or f"the server answered {code}")
    details = status.get("details")
    if not isinstance(details, dict):
        details = None
    return cls(message, details=details, retry_after=retry_after, status=status)
