"""A case: a short sequence of requests, in the JSON form of `../shared/oracle/apiserver`.

`steps` are requests, watches, what watches saw, and pauses; `response` of a step is what the real
server answered. `${ns}` and `${u}` are the run's own namespace and word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

Json: TypeAlias = Any
Step: TypeAlias = dict[str, Any]
Case: TypeAlias = dict[str, Any]

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

_ABSENT: Final = object()


def request(
    method: str,
    path: str,
    body: Json = _ABSENT,
    *,
    raw: str | None = None,
    query: Mapping[str, Json] | None = None,
    headers: Mapping[str, str] | None = None,
    user: str = "",
    save: Mapping[str, str] | None = None,
) -> Step:
    """One request. raw: a body that need not be JSON. save: words for parts of the answer."""
    document: dict[str, Json] = {"method": method, "path": path}
    if query:
        document["query"] = dict(query)
    if headers:
        document["headers"] = dict(headers)
    if raw is not None:
        document["raw"] = raw
    elif body is not _ABSENT:
        document["body"] = body
    if user:
        document["as"] = user
    step: Step = {"request": document}
    if save:
        step["save"] = dict(save)
    return step


def patch(path: str, media: str, body: Json, **more: Any) -> Step:
    """One PATCH of a media type."""
    headers = {"Content-Type": media, **more.pop("headers", {})}
    return request("PATCH", path, body, headers=headers, **more)


def watch(path: str, name: str = "w", query: Mapping[str, Json] | None = None) -> Step:
    """A watch that is opened; the server's first answer is its response."""
    document: dict[str, Json] = {"id": name, "path": path}
    return {"watch": {**document, "query": {"watch": "true", **(query or {})}}}


def collect(name: str = "w", **spec: Json) -> Step:
    """A step that collects the events of a watch since the watch was opened."""
    return {"collect": {"id": name, **spec}}


def requests_of(case: Case) -> int:
    """Return the number of answers of a case that are compared."""
    return len(case["steps"])
