"""The exceptions of the API server, and error responses that do not depend on a kind.

Every ApiError is the response of a request, with kube-apiserver's message:

* ApiError                    (kapy.kube.errors)
  - PageNotFound              no resource is served at the path
  - StorageFailure            the server failed
    - ConversionFailed        an object cannot be converted to another version
      - ConversionWebhookFailed   (webhooks.conversion)
  - StorageUnavailable        the store refuses writes at present
  - NoKubelet                 only a kubelet could answer
  - NotFound
    - SubresourceNotFound     (resources.kind_errors)
  - ResourceVersionTooLarge   (verbs.read) the requested state is newer than the store

The store raises the exceptions of `kapy.apiserver.store.errors`.
"""

from __future__ import annotations

from kapy.kube import Document
from kapy.kube.digits import has_only_digits
from kapy.kube.errors import ApiError, BadRequest, Invalid, MethodNotAllowed, NotFound
from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.go_literals import go_quoted


class PageNotFound(ApiError):
    """No resource is served at the path: a plain-text 404, as from Go's mux."""

    code = 404
    reason = "NotFound"

    def __init__(self) -> None:
        super().__init__("404 page not found")


class StorageFailure(ApiError):
    """Something failed on the server's side (500)."""

    code = 500
    reason = "InternalError"


class ConversionFailed(StorageFailure):
    """An object cannot be converted to another version of its kind (500)."""


class StorageUnavailable(ApiError):
    """The store refuses writes at present (503); reads still work."""

    code = 503
    reason = "ServiceUnavailable"


class NoKubelet(ApiError):
    """Only a kubelet could answer, and none runs here (501)."""

    code = 501
    reason = "NotImplemented"


def resource_version_on_create() -> ApiError:
    """Return the error for a create with a resourceVersion (a 500 without reason, as upstream)."""
    message = "resourceVersion should not be set on objects to be created"
    return StorageFailure(message, status=failure_status(message))


def failure_status(message: str) -> Document:
    """Return the Status of a failure without reason, like Go's plain errors."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "code": 500,
    }


def name_missing() -> ApiError:
    """Return the error for a write of one object at the path of a collection."""
    return BadRequest("name must be provided")


def unsupported_method() -> ApiError:
    """Return the error for a method that a built-in path does not support."""
    message = "the server does not allow this method on the requested resource"
    return MethodNotAllowed(message, details={})


def no_such_resource() -> ApiError:
    """Return the error for a path of a built-in group that is not served."""
    return NotFound("the server could not find the requested resource", details={})


def invalid_parameters(options: str, errors: list[FieldError]) -> ApiError:
    """Return the error for invalid query parameters. options: `ListOptions`, `DeleteOptions` …"""
    return Invalid.of(options, "meta.k8s.io", "", errors)


def invalid_integer(text: str, why: str = "invalid syntax") -> ApiError:
    """Return the error for an invalid number in the query."""
    return BadRequest(f"strconv.ParseInt: parsing {go_quoted(text)}: {why}")


def invalid_resource_version_message(text: str) -> str:
    """Return the message about an invalid resourceVersion of a watch or a list."""
    wrong = "value out of range" if has_only_digits(text) else "invalid syntax"
    why = f"strconv.ParseUint: parsing {go_quoted(text)}: {wrong}"
    return str(invalid("resourceVersion", text, why))
