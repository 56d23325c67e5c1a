"""The one seam between a client and an API server, and it streams.

A server is an async function from `Request` to `Reply`. In process the transport is that
function itself: bodies are documents handed over by reference, a watch is an async iterator of
event documents, and there are no bytes and no copies. Over the network two thin adapters (ASGI on
the server's side, aiohttp on the client's) turn the same shapes into HTTP.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from kapy.kube import Document


@dataclass(frozen=True, slots=True)
class User:
    """Who asks, as authentication found out (kube-apiserver's `user.Info`)."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
ADMIN = User("kubernetes-admin", ("system:masters", "system:authenticated"))


@dataclass(slots=True)
class Arrival:
    """How a request came to its server, and what was found out on the way to its answer.

    audit_id: names the request in logs. uri: path and query as sent. peer: the client's address
    ("" in process). user: who really asks, None when that could not be found out. received: when,
    by `time.perf_counter`. decision, reason: what authorization said (`allow` or `forbid`), why.
    failed: the answer says that something went wrong which nobody foresaw.
    """

    audit_id: str
    uri: str
    peer: str = ""
    user: User | None = None
    received: float = 0.0
    decision: str = ""
    reason: str = ""
    failed: bool = False


@dataclass(slots=True)
class Request:
    """One request.

    path: percent-decoded, without query. query: first value of each parameter (of `dryRun`
    all, one a line). headers: names in
    lower case. body: bytes from the network, or (in process) a document, or a list for a JSON
    patch; the server neither changes nor keeps it. user: None until authentication ran; in
    process the transport's owner says who. arrival: of what comes over the network, and of what
    is audited.
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
    """One answer.

    body: a document (shared; do not change), bytes, or an async iterator: of watch event
    documents (`{"type", "object"}`) in process, of bytes when the media type is not JSON.
    Whoever takes an iterator must `aclose()` it. sent: wants to know how many bytes the body had
    on the network.
    """

    status: int
    body: Document | bytes | AsyncIterator[Document] | AsyncIterator[bytes]
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: Callable[[int], None] | None = None


Transport: TypeAlias = Callable[[Request], Awaitable[Reply]]
"""An API server as a client sees it. Interceptors (faults, metrics, traces) wrap one."""

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
