"""The streaming interface between a client and an API server.

A server is an async function from `Request` to `Reply`. In process the transport is that function
itself: bodies are documents passed by reference, and a watch is an async iterator of event
documents, without any encoding. Over the network two thin adapters (ASGI on the server's side,
aiohttp on the client's) convert the same types to HTTP.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from kapy.kube import Document


@dataclass(frozen=True, slots=True)
class User:
    """The authenticated user of a request (kube-apiserver's `user.Info`)."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
ADMIN = User("kubernetes-admin", ("system:masters", "system:authenticated"))


@dataclass(slots=True)
class Arrival:
    """The origin of a request, and facts recorded while it was processed.

    audit_id: identifies the request in logs. uri: path and query as sent. peer: the client's
    address ("" in process). user: the authenticated user before impersonation, None if unknown.
    received: the time, by `time.perf_counter`. decision, reason: the authorization decision
    (`allow` or `forbid`) and its reason. failed: an unexpected error occurred. needs_document: the
    audit log records the object of the response, which must not be encoded then.
    """

    audit_id: str
    uri: str
    peer: str = ""
    user: User | None = None
    received: float = 0.0
    decision: str = ""
    reason: str = ""
    failed: bool = False
    needs_document: bool = False


@dataclass(slots=True)
class Request:
    """A request to an API server.

    path: percent-decoded, without query. query: the first value of each parameter (of `dryRun` all,
    one a line). headers: the headers with names in lower case. body: bytes from the network, or (in
    process) a document, or a list for a JSON patch; the server neither changes nor keeps it. user:
    None before authentication; in process the transport sets it. arrival: set for network requests
    and audited ones.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | Document | list[Document] | None = None
    user: User | None = None
    arrival: Arrival | None = None


@dataclass(slots=True)
class Reply:
    """A response of an API server.

    body: a document (shared; do not change), bytes, or an async iterator: of watch event documents
    (`{"type", "object"}`) in process, of bytes if the media type is not JSON. The receiver of an
    iterator must `aclose()` it. sent: a callback for the size of the body on the network.
    """

    status: int
    body: Document | bytes | AsyncIterator[Document] | AsyncIterator[bytes]
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: Callable[[int], None] | None = None


Transport: TypeAlias = Callable[[Request], Awaitable[Reply]]
"""An API server as a client sees it. Interceptors (faults, metrics, traces) wrap a Transport."""

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
