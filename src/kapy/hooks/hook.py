"""What a hook is: a name in a version, tied to the types of its request and response.

A type checker proves with it that a handler fits its hook; nothing is checked by reflection when
a call comes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

import msgspec

from kapy.hooks.errors import BadMessage
from kapy.hooks.messages.message import M, Message, Response, RetryResponse, without_nulls
from kapy.kube.foreign_json import BadJson, decoded
from kapy.kube.model import encode

GROUP: Final = "hooks.runtime.cluster.x-k8s.io"

Req = TypeVar("Req", bound=Message)
Resp = TypeVar("Resp", bound=Response)


@dataclass(frozen=True, slots=True)
class Deprecation:
    """That a version of a hook goes away: since which release, and with which one at the latest.

    replacement: the version that is to be used instead, as in "v1beta1".
    since_date, removed_date: when those releases come, as 2026-11-30.
    """

    replacement: str
    since: str
    since_date: str
    last_release: str
    removed_date: str


@dataclass(frozen=True)
class Conversion(Generic[Req, Resp]):
    """How a hook's version and the one before it become each other.

    older: the hook in the version before. A request goes down to an extension that knows only that
    one, and its response comes up; the other two ways are for tests and recorded calls.
    """

    older: Hook[Any, Any]
    request_down: Callable[[Req], Any]
    request_up: Callable[[Any], Req]
    response_up: Callable[[Any], Resp]
    response_down: Callable[[Resp], Any]


@dataclass(frozen=True)
class Hook(Generic[Req, Resp]):
    """One hook in one version.

    summary, description: prose for people who write extensions. tags: what OpenAPI groups it by.
    singleton: an extension has one handler of it, which has no name.
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
        """What all versions of a hook are together."""
        return f"{self.name}.{self.group}"

    @property
    def request_kind(self) -> str:
        return f"{self.name}Request"

    @property
    def response_kind(self) -> str:
        return f"{self.name}Response"

    @property
    def may_hold(self) -> bool:
        """Whether an answer can ask for time, and so hold what comes next."""
        return issubclass(self.response, RetryResponse)

    def path(self, handler: str = "") -> str:
        """Where a handler is asked; that of a singleton has no name."""
        parts = ["", self.group, self.version, self.name.lower()]
        return "/".join([*parts, handler.lower()] if handler else parts)

    def encode_request(self, request: Req) -> bytes:
        """A request as it travels."""
        return _encoded(request, self.api_version, self.request_kind)

    def encode_response(self, response: Resp) -> bytes:
        """A response as it travels."""
        return _encoded(response, self.api_version, self.response_kind)

    def decode_request(self, body: bytes) -> Req:
        """A request that came. Raises BadMessage with what is wrong with it."""
        return _decoded(body, self.request, self.api_version, self.request_kind)

    def decode_response(self, body: bytes) -> Resp:
        """A response that came; its status is empty if it has none. Raises BadMessage with what is
        wrong with it."""
        found = _decoded(body, self.response, self.api_version, self.response_kind)
        found.status = msgspec.json.decode(body, type=_Status).status or ""
        return found


class _Status(msgspec.Struct):
    """A status that came, and not the one that an author's response begins with."""

    status: str | None = None


AnyHook: TypeAlias = Hook[Any, Any]


def _encoded(message: Message, api_version: str, kind: str) -> bytes:
    document = encode(message)
    return msgspec.json.encode({**document, "kind": kind, "apiVersion": api_version})


def _decoded(body: bytes, message: type[M], api_version: str, kind: str) -> M:
    try:
        found = msgspec.json.decode(body, type=message)
    except msgspec.ValidationError:
        found = _leniently(body, message, kind)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"the {kind} is not JSON: {error}") from None
    for field, said, meant in (
        ("apiVersion", found.api_version, api_version),
        ("kind", found.kind, kind),
    ):
        if said and said != meant:
            raise BadMessage(f'{field} is "{said}", but this has to be a {kind} of {api_version}')
    return found


def _leniently(body: bytes, message: type[M], kind: str) -> M:
    """As Go reads it: a field that is null is absent."""
    try:
        document = decoded(body)
    except BadJson as error:
        raise BadMessage(f"the {kind} is not JSON: {error}") from None
    try:
        return msgspec.convert(without_nulls(document, message), message)
    except msgspec.ValidationError as error:
        raise BadMessage(f"the {kind} is not as its schema says: {error}") from None
