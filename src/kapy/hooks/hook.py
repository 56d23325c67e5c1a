"""A hook: a name in a version, bound to the types of its request and response.

A type checker proves that a handler fits its hook; nothing is checked by reflection at call time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

import msgspec

from kapy.hooks.errors import BadMessage
from kapy.hooks.messages.message import M, Message, Response, RetryResponse, without_nulls
from kapy.kube.foreign_json import BadJson, decode_json
from kapy.kube.model import encode
from kapy.kube.renamed import RenamedMember

GROUP: Final = "hooks.runtime.cluster.x-k8s.io"

Req = TypeVar("Req", bound=Message)
Resp = TypeVar("Resp", bound=Response)


@dataclass(frozen=True, slots=True)
class Deprecation:
    """The deprecation of a hook version: since which release, and the latest release that removes
    it.

    replacement: the version to use instead, as in "v1beta1". since_date, removed_date: dates of
    those releases, as 2026-11-30.
    """

    replacement: str
    since: str
    since_date: str
    last_release: str
    removed_date: str


@dataclass(frozen=True)
class Conversion(Generic[Req, Resp]):
    """The conversion between a hook's version and the previous one.

    older: the hook in the previous version. Requests are converted down for an older extension, and
    its responses up; the other two directions are for tests and recorded calls.
    """

    older: Hook[Any, Any]
    request_down: Callable[[Req], Any]
    request_up: Callable[[Any], Req]
    response_up: Callable[[Any], Resp]
    response_down: Callable[[Resp], Any]


@dataclass(frozen=True)
class Hook(Generic[Req, Resp]):
    """One hook in one version.

    summary, description: texts for authors of extensions. tags: groups in OpenAPI. singleton: an
    extension has one handler of it, which has no name.
    """

    name: str
    request: type[Req]
    response: type[Resp]
    summary: str
    description: str
    tags: tuple[str, ...] = ()
    version: str = "v1alpha1"
    group: str = GROUP
    singleton: bool = False
    deprecation: Deprecation | None = None
    conversion: Conversion[Req, Resp] | None = None

    def __str__(self) -> str:
        return f"{self.api_version}, Hook={self.name}"

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    @property
    def group_hook(self) -> str:
        """The name of the hook without its version."""
        return f"{self.name}.{self.group}"

    @property
    def request_kind(self) -> str:
        return f"{self.name}Request"

    @property
    def response_kind(self) -> str:
        return f"{self.name}Response"

    may_hold = RenamedMember("is_blocking")

    @property
    def is_blocking(self) -> bool:
        """Whether a response can request a retry, and so block the operation."""
        return issubclass(self.response, RetryResponse)

    def path(self, handler: str = "") -> str:
        """Return the URL path of a handler; singleton hooks have no handler name."""
        parts = ["", self.group, self.version, self.name.lower()]
        return "/".join([*parts, handler.lower()] if handler else parts)

    def encode_request(self, request: Req) -> bytes:
        """Encode a request."""
        return _encode(request, self.api_version, self.request_kind)

    def encode_response(self, response: Resp) -> bytes:
        """Encode a response."""
        return _encode(response, self.api_version, self.response_kind)

    def decode_request(self, body: bytes) -> Req:
        """Decode a request. Raises BadMessage with the error."""
        return _decode(body, self.request, self.api_version, self.request_kind)

    def decode_response(self, body: bytes) -> Resp:
        """Decode a response; `status` is empty if it is missing. Raises BadMessage with the
        error."""
        result = _decode(body, self.response, self.api_version, self.response_kind)
        result.status = msgspec.json.decode(body, type=_Status).status or ""
        return result


class _Status(msgspec.Struct):
    """The received status, as opposed to the initial status of an author's response."""

    status: str | None = None


AnyHook: TypeAlias = Hook[Any, Any]


def _encode(message: Message, api_version: str, kind: str) -> bytes:
    document = encode(message)
    return msgspec.json.encode({**document, "kind": kind, "apiVersion": api_version})


def _decode(body: bytes, message: type[M], api_version: str, kind: str) -> M:
    try:
        result = msgspec.json.decode(body, type=message)
    except msgspec.ValidationError:
        result = _leniently(body, message, kind)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"the {kind} is not JSON: {error}") from None
    for field, item, meant in (
        ("apiVersion", result.api_version, api_version),
        ("kind", result.kind, kind),
    ):
        if item and item != meant:
            raise BadMessage(f'{field} is "{item}", but this has to be a {kind} of {api_version}')
    return result


def _leniently(body: bytes, message: type[M], kind: str) -> M:
    """Decode as Go does: a null field is absent."""
    try:
        document = decode_json(body)
    except BadJson as error:
        raise BadMessage(f"the {kind} is not JSON: {error}") from None
    try:
        return msgspec.convert(without_nulls(document, message), message)
    except msgspec.ValidationError as error:
        raise BadMessage(f"the {kind} is not as its schema says: {error}") from None
