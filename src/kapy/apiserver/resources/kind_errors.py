"""Error responses about a resource or one of its objects, with kube-apiserver's messages."""

from __future__ import annotations

from kapy.apiserver.errors import NoKubelet
from kapy.apiserver.resources.kind import Kind
from kapy.kube import Document
from kapy.kube.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Invalid,
    MethodNotAllowed,
    NotFound,
)
from kapy.kube.field_errors import FieldError
from kapy.kube.go_literals import go_quoted
from kapy.kube.names import path_segment_errors

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


class SubresourceNotFound(NotFound):
    """A custom resource has no such subresource. deprecation: the warning of its version."""

    def __init__(self, kind: Kind, name: str) -> None:
        super().__init__(
            f'{kind.group_resource} "{name}" not found', details=status_details(kind, name)
        )
        self.deprecation = kind.deprecation


def status_details(kind: Kind, name: str = "") -> Document:
    """Return `status.details` for a resource (and an object)."""
    result: Document = {"name": name} if name else {}
    if kind.resource.group:
        result["group"] = kind.resource.group
    result["kind"] = kind.resource.plural
    return result


def not_found(kind: Kind, name: str) -> ApiError:
    """Return the error for a missing object, or for an invalid name."""
    if wrong := path_segment_errors(name):
        why = ";".join(wrong)
        return BadRequest(f"Name parameter invalid: {go_quoted(name)}: {why}")
    return NotFound(f'{kind.group_resource} "{name}" not found', details=status_details(kind, name))


def no_kubelet(kind: Kind, name: str, part: str) -> ApiError:
    """Return the error for a subresource that only a kubelet serves."""
    message = (
        f'no {part} of {kind.group_resource} "{name}": this server keeps pods and nodes as '
        "records, and nothing runs them"
    )
    return NoKubelet(message, details=status_details(kind, name))


def already_exists(kind: Kind, name: str, *, ending: bool = False) -> ApiError:
    """Return the error for an existing name. ending: the existing object is being deleted."""
    message = f'{kind.group_resource} "{name}" already exists'
    if ending:
        message = f"object is being deleted: {message}"
    return AlreadyExists(message, details=status_details(kind, name))


def name_not_unique(kind: Kind, name: str) -> ApiError:
    """Return the error for a generated name that is not unique."""
    message = (
        f'{kind.group_resource} "{name}" already exists, the server was not able to generate a '
        "unique name for the object"
    )
    result = {**status_details(kind, name), "retryAfterSeconds": 1}
    return AlreadyExists(message, details=result, retry_after=1)


def conflict(kind: Kind, name: str, why: str = MODIFIED) -> Conflict:
    """Return the error for an object that the writer knows in an outdated state."""
    message = f'Operation cannot be fulfilled on {kind.group_resource} "{name}": {why}'
    return Conflict(message, details=status_details(kind, name))


def method_not_allowed(kind: Kind, verb: str) -> ApiError:
    """Return the error for a verb that the resource does not support."""
    message = f'{verb} is not supported on resources of kind "{kind.group_resource}"'
    return MethodNotAllowed(message, details=status_details(kind))


def invalid_object(kind: Kind, name: str, errors: list[FieldError]) -> ApiError:
    """Return the error for an invalid object."""
    return Invalid.of(kind.resource.kind, kind.storage.group, name, errors)
