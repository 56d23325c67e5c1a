"""get and list."""

from __future__ import annotations

import base64
import itertools
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from kapy.apiserver.ask import Ask
from kapy.apiserver.go_json import syntax_error
from kapy.apiserver.parameters import whole
from kapy.apiserver.plane import Plane
from kapy.apiserver.refusals import bad_resource_version, invalid_options, not_found
from kapy.apiserver.selection import selection
from kapy.apiserver.shown import listed, shown
from kapy.apiserver.store.feed import Matcher
from kapy.apiserver.store.table import Table
from kapy.kube import Document
from kapy.kube.errors import ApiError, BadRequest, Expired
from kapy.kube.field_errors import FieldError, forbidden, invalid
from kapy.kube.http import Reply

_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


class TooFarAhead(ApiError):
    """A resourceVersion that the store has not reached (504, reason Timeout)."""

    code = 504
    reason = "Timeout"


async def get(plane: Plane, ask: Ask) -> Reply:
    """One object."""
    version = ask.request.query.get("resourceVersion")
    if version:
        check_not_ahead(plane, resource_version(version))
    table = plane.store.peek(ask.kind.table)
    document = None if table is None else table.get(ask.namespace, ask.name)
    if document is None:
        raise not_found(ask.kind, ask.name)
    return await shown(plane, ask, document)


def resource_version(text: str) -> int:
    """A resourceVersion of a query as a number. Raises BadRequest."""
    if not text.isascii() or not text.isdigit():
        raise BadRequest(f"invalid resource version: {bad_resource_version(text)}")
    return int(text)


def check_not_ahead(plane: Plane, version: int) -> None:
    """Refuse to read at a version that is not there yet."""
    now = plane.store.revision
    if version > now:
        raise TooFarAhead(
            f"Timeout: Too large resource version: {version}, current: {now}",
            details={
                "causes": [
                    {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
                ],
                "retryAfterSeconds": 1,
            },
            retry_after=1,
        )


class Token(NamedTuple):
    """Where a list continues. revision -1: at whatever is newest."""

    revision: int
    after: str


def decode_token(text: str) -> Token:
    """A `continue` parameter. Raises BadRequest."""
    try:
        value = json_of(text)
        if not isinstance(value, dict) or value.get("v") != "meta.k8s.io/v1":
            version = value.get("v", "") if isinstance(value, dict) else ""
            raise ValueError(f"server does not recognize this encoded version {version}")
        return Token(int(value["rv"]), str(value["start"]))
    except (ValueError, KeyError, TypeError) as error:
        raise BadRequest(f"invalid continue token: continue key is not valid: {error}") from None


def json_of(text: str) -> Any:
    """The JSON in unpadded URL-safe base64. Raises ValueError in Go's words."""
    allowed = re.match(r"[A-Za-z0-9_-]*", text)
    good = allowed.end() if allowed else 0
    if good < len(text) or len(text) % 4 == 1:
        raise ValueError(f"illegal base64 data at input byte {min(good, len(text) - 1)}")
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ValueError(syntax_error(raw, encoding="latin-1")) from None


def encode_token(token: Token) -> str:
    """The `continue` of a list."""
    raw = msgspec.json.encode({"v": "meta.k8s.io/v1", "rv": token.revision, "start": token.after})
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


async def list_(plane: Plane, ask: Ask) -> Reply:
    """All objects that a request selects, by namespace and name, perhaps a page of them."""
    query = ask.request.query
    chosen = selection(ask.kind, query)
    limit = whole(query, "limit") or 0
    version = check_list_options(query)
    token = decode_token(query["continue"]) if query.get("continue") else None
    table = plane.table(ask.kind)
    revision = plane.store.revision
    name = ask.name or chosen.name
    if token is not None:
        revision = token.revision if token.revision > 0 else revision
        found = _after(_as_of(plane, table, ask.namespace, revision), token.after)
        if token.revision > 0 and token.revision < plane.store.history.floor:
            raise _expired(token)
    elif version and query.get("resourceVersionMatch") == "Exact":
        revision = int(version)
        check_not_ahead(plane, revision)
        if revision < plane.store.history.floor:
            raise _exact_expired(plane, revision)
        found = _as_of(plane, table, ask.namespace, revision)
    else:
        if version:
            check_not_ahead(plane, int(version))
        found = _named(table, ask.namespace, name) if name else table.scan(ask.namespace)
    metadata: Document = {"resourceVersion": str(revision)}
    if token is not None and query.get("resourceVersion") == "0":
        limit = 0  # as if from kube-apiserver's watch cache, which knows no pages
    if limit > 0:
        documents, more = _page(found, limit, chosen.match)
        if more:
            metadata["continue"] = encode_token(Token(revision, _position(documents[-1])))
            if chosen.match is None:
                metadata["remainingItemCount"] = more
    else:
        documents = list(found if chosen.match is None else filter(chosen.match, found))
    kind = ask.kind
    documents = list(await plane.in_version(documents, kind.resource))
    return Reply(200, listed(plane, ask, documents, metadata))


def _named(table: Table, namespace: str, name: str) -> Iterable[Document]:
    spaces = [namespace] if namespace else sorted(table.namespaces, key=lambda one: one + "/")
    found = (table.get(space, name) for space in spaces)
    return [one for one in found if one is not None]


def _page(
    found: Iterable[Document], limit: int, match: Matcher | None
) -> tuple[list[Document], int]:
    """The first `limit` objects that match, and how many objects (matching or not) follow."""
    iterator = iter(found)
    matching = iterator if match is None else filter(match, iterator)
    documents = list(itertools.islice(matching, limit))
    return documents, sum(1 for _ in iterator)


def _position(document: Document) -> str:
    metadata = document["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def _after(documents: Iterable[Document], position: str) -> Iterable[Document]:
    return (one for one in documents if _position(one) > position)


def _as_of(plane: Plane, table: Table, namespace: str, revision: int) -> Iterable[Document]:
    if revision >= plane.store.revision:
        return table.scan(namespace)
    then = plane.store.history.as_of(table.name, revision, table.content(namespace))
    if namespace:
        then = {key: value for key, value in then.items() if key[0] == namespace}
    return [then[key] for key in sorted(then, key=lambda one: f"{one[0]}/{one[1]}")]


def _expired(token: Token) -> ApiError:
    error = Expired(_TOO_OLD)
    status = error.status()
    status["metadata"] = {
        "continue": encode_token(Token(-1, token.after)),
    }
    return Expired(_TOO_OLD, status=status)


def _exact_expired(plane: Plane, revision: int) -> ApiError:
    return Expired(
        f"The resourceVersion for the provided list is too old. ({revision})"
        if plane is None
        else "The resourceVersion for the provided list is too old."
    )


def check_list_options(query: object) -> str:
    """The resourceVersion of a list, after its options were checked. Raises Invalid."""
    options: dict[str, str] = dict(query)  # type: ignore[call-overload]
    errors: list[FieldError] = []
    version, match = options.get("resourceVersion", ""), options.get("resourceVersionMatch", "")
    if match:
        if not version:
            errors.append(
                forbidden(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                )
            )
        if options.get("continue"):
            errors.append(
                forbidden(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden when continue is provided",
                )
            )
        if match not in ("Exact", "NotOlderThan"):
            errors.append(
                FieldError(
                    "FieldValueNotSupported",
                    "resourceVersionMatch",
                    'supported values: "Exact", "NotOlderThan", ""',
                    match,
                )
            )
        if match == "Exact" and version == "0":
            errors.append(
                forbidden(
                    "resourceVersionMatch",
                    'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
                )
            )
    if "sendInitialEvents" in options:
        errors.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if errors:
        raise invalid_options("ListOptions", errors)
    if options.get("continue") and version and version != "0":
        raise BadRequest("specifying resource version is not allowed when using continue")
    if version:
        resource_version(version)
    return "" if version == "0" else version


__all__ = ["get", "invalid", "list_"]
