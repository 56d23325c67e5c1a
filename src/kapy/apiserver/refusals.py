"""kube-apiserver's refusals, in its words."""

from __future__ import annotations

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
from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.go_quoted import go_quoted
from kapy.kube.names import path_segment_errors

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


class PageNotFound(ApiError):
    """No resource is served at the path: a plain-text 404, as from Go's own mux."""

    code = 404
    reason = "NotFound"

    def __init__(self) -> None:
        super().__init__("404 page not found")


class PartNotFound(NotFound):
    """A custom resource has no such subresource. deprecation: what its version warns of."""

    def __init__(self, kind: Kind, name: str) -> None:
        super().__init__(f'{kind.group_resource} "{name}" not found', details=details(kind, name))
        self.deprecation = kind.deprecation


class StorageFailure(ApiError):
    """Something failed on the server's side (500)."""

    code = 500
    reason = "InternalError"


class ConversionFailed(StorageFailure):
    """An object cannot be had in another version of its kind (500)."""


class StorageUnavailable(ApiError):
    """The store takes no writes for now (503); reads go on."""

    code = 503
    reason = "ServiceUnavailable"


class NothingRuns(ApiError):
    """Only a kubelet could answer (501)."""

    code = 501
    reason = "NotImplemented"


def resource_version_set() -> ApiError:
    """A create of an object that seems to come from a server (500 without a reason, as there)."""
    message = "resourceVersion should not be set on objects to be created"
    return StorageFailure(message, status=plain_failure(message))


def plain_failure(message: str) -> Document:
    """The Status of a failure that has no reason, as Go's plain errors become one."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "code": 500,
    }


def name_missing() -> ApiError:
    """A write of one object at the path of a collection."""
    return BadRequest("name must be provided")


def method_unknown() -> ApiError:
    """A method that a path of Kubernetes' own does not have."""
    message = "the server does not allow this method on the requested resource"
    return MethodNotAllowed(message, details={})


def details(kind: Kind, name: str = "") -> Document:
    """`status.details` that name a resource (and an object)."""
    found: Document = {"name": name} if name else {}
    if kind.resource.group:
        found["group"] = kind.resource.group
    found["kind"] = kind.resource.plural
    return found


def no_such_resource() -> ApiError:
    """A path below a group of Kubernetes' own that nothing is served at."""
    return NotFound("the server could not find the requested resource", details={})


def not_found(kind: Kind, name: str) -> ApiError:
    """The object is not there, or no object can have such a name."""
    if wrong := path_segment_errors(name):
        why = ";".join(wrong)
        return BadRequest(f"Name parameter invalid: {go_quoted(name)}: {why}")
    return NotFound(f'{kind.group_resource} "{name}" not found', details=details(kind, name))


def nothing_runs(kind: Kind, name: str, part: str) -> ApiError:
    """A request for a part of a pod or node that only its kubelet has."""
    message = (
        f'no {part} of {kind.group_resource} "{name}": this server keeps pods and nodes as '
        "records, and nothing runs them"
    )
    return NothingRuns(message, details=details(kind, name))


def already_exists(kind: Kind, name: str, *, ending: bool = False) -> ApiError:
    """An object of that name is there. ending: it is being deleted."""
    message = f'{kind.group_resource} "{name}" already exists'
    if ending:
        message = f"object is being deleted: {message}"
    return AlreadyExists(message, details=details(kind, name))


def name_not_unique(kind: Kind, name: str) -> ApiError:
    """An object of the name that an object with a generateName has is there."""
    message = (
        f'{kind.group_resource} "{name}" already exists, the server was not able to generate a '
        "unique name for the object"
    )
    told = {**details(kind, name), "retryAfterSeconds": 1}
    return AlreadyExists(message, details=told, retry_after=1)


def conflict(kind: Kind, name: str, why: str = MODIFIED) -> Conflict:
    """The object is not as the writer thinks."""
    message = f'Operation cannot be fulfilled on {kind.group_resource} "{name}": {why}'
    return Conflict(message, details=details(kind, name))


def method_not_allowed(kind: Kind, verb: str) -> ApiError:
    """The resource has no such verb."""
    message = f'{verb} is not supported on resources of kind "{kind.group_resource}"'
    return MethodNotAllowed(message, details=details(kind))


def invalid_object(kind: Kind, name: str, errors: list[FieldError]) -> ApiError:
    """The object breaks rules."""
    return Invalid.of(kind.resource.kind, kind.storage.group, name, errors)


def invalid_options(options: str, errors: list[FieldError]) -> ApiError:
    """Query parameters break rules. options: `ListOptions`, `DeleteOptions` …"""
    return Invalid.of(options, "meta.k8s.io", "", errors)


def bad_integer(text: str, why: str = "invalid syntax") -> ApiError:
    """A number in the query that is none."""
    return BadRequest(f"strconv.ParseInt: parsing {go_quoted(text)}: {why}")


def bad_resource_version(text: str) -> str:
    """What is wrong with a resourceVersion of a watch or a list that is no number."""
    digits = text.isascii() and text.isdigit()
    wrong = "value out of range" if digits else "invalid syntax"
    why = f"strconv.ParseUint: parsing {go_quoted(text)}: {wrong}"
    return str(invalid("resourceVersion", text, why))
