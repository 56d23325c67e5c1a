"""The verbs get and list."""

from __future__ import annotations

import asyncio
import base64
import itertools
import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from kapy.apiserver.ask import Ask
from kapy.apiserver.go_json import syntax_error
from kapy.apiserver.parameters import whole
from kapy.apiserver.plane import Plane
from kapy.apiserver.refusals import (
    StorageFailure,
    bad_resource_version,
    invalid_options,
    not_found,
    plain_failure,
)
from kapy.apiserver.selection import EVERYTHING, Selection, selection
from kapy.apiserver.shown import listed, shown
from kapy.apiserver.store.feed import Matcher
from kapy.apiserver.store.table import Table
from kapy.kube import Document
from kapy.kube.errors import ApiError, BadRequest, Expired
from kapy.kube.field_errors import FieldError, forbidden, invalid
from kapy.kube.foreign_json import BadJson, decoded
from kapy.kube.http import Reply

_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


class TooFarAhead(ApiError):
    """The requested resourceVersion is newer than the store (504, reason Timeout)."""

    code = 504
    reason = "Timeout"


async def get(plane: Plane, ask: Ask) -> Reply:
    """Return one object."""
    return await shown(plane, ask, stored(plane, ask))


def stored(plane: Plane, ask: Ask) -> Document:
    """Return the object that the path names, at least as new as the query's resourceVersion.

    Raises NotFound, TooFarAhead, StorageFailure.
    """
    version = ask.request.query.get("resourceVersion")
    if version:
        check_not_ahead(plane, version_in_storage(version))
    table = plane.store.peek(ask.kind.table)
    document = None if table is None else table.get(ask.namespace, ask.name)
    if document is None:
        raise not_found(ask.kind, ask.name)
    return document


async def requested_form(plane: Plane, ask: Ask, stored: Document) -> Document:
    """Convert a stored object to the version of the request."""
    if stored["apiVersion"] == ask.kind.resource.api_version:
        return stored
    (document,) = await plane.in_version((stored,), ask.kind.resource)
    return document


_DIGITS: Final = 20
"""The most decimal digits of a 64-bit number."""


def version_in_storage(text: str) -> int:
    """Parse a resourceVersion that is checked by the storage layer only (get and watch).

    Returns 0 if it is empty. Raises StorageFailure.
    """
    found = _number(text)
    if found is None:
        message = bad_resource_version(text)
        raise StorageFailure(message, status=plain_failure(message))
    return found


def resource_version(text: str) -> int:
    """Parse a resourceVersion of the query. Raises BadRequest."""
    found = _number(text)
    if found is None:
        raise BadRequest(f"invalid resource version: {bad_resource_version(text)}")
    return found


def _number(text: str) -> int | None:
    if text and (not text.isascii() or not text.isdigit()):
        return None
    digits = text.lstrip("0") or "0"
    return int(digits) if len(digits) <= _DIGITS and int(digits) < 1 << 64 else None


def check_not_ahead(plane: Plane, version: int) -> None:
    """Check that the store has reached a resourceVersion. Raises TooFarAhead."""
    if version > plane.store.revision:
        raise ahead(plane, version)


def ahead(plane: Plane, version: int) -> TooFarAhead:
    """Return the error for a resourceVersion that the store has not reached."""
    return TooFarAhead(
        f"Timeout: Too large resource version: {version}, current: {plane.store.revision}",
        details={
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ],
            "retryAfterSeconds": 1,
        },
        retry_after=1,
    )


class Token(NamedTuple):
    """A decoded `continue` parameter: the list continues after the key `after`.

    revision: -1 continues with the newest state.
    """

    revision: int
    after: str


def decode_token(text: str) -> Token:
    """Decode a `continue` parameter. Raises BadRequest."""
    try:
        value = json_of(text)
        if not isinstance(value, dict) or value.get("v") != "meta.k8s.io/v1":
            version = value.get("v", "") if isinstance(value, dict) else ""
            raise ValueError(f"server does not recognize this encoded version {version}")
        if not value.get("rv"):
            raise ValueError(f"incorrect encoded start resourceVersion {_OF_VERSION}")
        if not value.get("start"):
            raise ValueError(f"encoded start key empty {_OF_VERSION}")
        return Token(int(value["rv"]), str(value["start"]))
    except (ValueError, KeyError, TypeError) as error:
        raise BadRequest(f"invalid continue token: continue key is not valid: {error}") from None


_OF_VERSION = "(version meta.k8s.io/v1)"


def json_of(text: str) -> Any:
    """Decode JSON in unpadded URL-safe base64. Raises ValueError with Go's messages."""
    allowed = re.match(r"[A-Za-z0-9_-]*", text)
    good = allowed.end() if allowed else 0
    if good < len(text) or len(text) % 4 == 1:
        raise ValueError(f"illegal base64 data at input byte {min(good, len(text) - 1)}")
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    try:
        return decoded(raw)
    except BadJson:
        raise ValueError(syntax_error(raw, encoding="latin-1")) from None


def encode_token(token: Token) -> str:
    """Encode a `continue` parameter."""
    raw = msgspec.json.encode({"v": "meta.k8s.io/v1", "rv": token.revision, "start": token.after})
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


async def list_(plane: Plane, ask: Ask) -> Reply:
    """List the objects that a request selects, ordered by namespace and name, in pages if asked."""
    chosen, limit = list_selection(ask)
    await decode_large(plane.table(ask.kind), ask.namespace)
    metadata, documents = found_by(plane, ask, chosen, limit)
    documents = list(await plane.in_version(documents, ask.kind.resource))
    return Reply(200, listed(plane, ask, documents, metadata))


async def decode_large(table: Table, namespace: str) -> None:
    """Decode large objects one at a time before all objects are read at once."""
    for each, name in list(table.large):
        if namespace in ("", each) and table.decode(each, name):
            await asyncio.sleep(0)


def found_by(
    plane: Plane, ask: Ask, chosen: Selection, limit: int
) -> tuple[Document, list[Document]]:
    """Return the list metadata and at most one page of the selected objects. Raises BadRequest."""
    query = ask.request.query
    token = decode_token(query["continue"]) if query.get("continue") else None
    revision, found = _found(plane, ask, token, limit, ask.name or chosen.name)
    metadata: Document = {"resourceVersion": str(revision)}
    if query.get("resourceVersion") == "0":
        limit = 0  # kube-apiserver serves this from its watch cache, which ignores the limit
    if limit <= 0:
        return metadata, list(found if chosen.match is None else filter(chosen.match, found))
    documents, more = _page(found, limit, chosen.match)
    if more:
        metadata["continue"] = encode_token(Token(revision, _position(documents[-1])))
        if chosen.match is None:
            metadata["remainingItemCount"] = more
    return metadata, documents


def _found(
    plane: Plane, ask: Ask, token: Token | None, limit: int, name: str
) -> tuple[int, Iterable[Document]]:
    """Return the revision of a list and its objects before selectors apply.

    Raises BadRequest, Expired.
    """
    table, query, now = plane.table(ask.kind), ask.request.query, plane.store.revision
    version = query.get("resourceVersion", "")
    version = "" if version == "0" else version
    if token is not None:
        if version:
            raise BadRequest("specifying resource version is not allowed when using continue")
        if 0 < token.revision < plane.store.history.floor:
            raise _expired(token)
        revision = token.revision if token.revision > 0 else now
        return revision, _after(_as_of(plane, table, ask.namespace, revision), token.after)
    if version:
        check_not_ahead(plane, resource_version(version))
    if version and _exact(query, limit, name):
        revision = resource_version(version)
        if revision < plane.store.history.floor:
            raise _exact_expired(plane, revision)
        return revision, _as_of(plane, table, ask.namespace, revision)
    return now, _named(table, ask.namespace, name) if name else table.scan(ask.namespace)


def list_selection(ask: Ask) -> tuple[Selection, int]:
    """Return the selection and the limit of list or deletecollection. Raises BadRequest,
    Invalid.
    """
    query = ask.request.query
    if not query:
        return EVERYTHING, 0
    whole(query, "timeoutSeconds")
    limit = whole(query, "limit") or 0
    chosen = selection(ask.kind, query, partial(check_list_options, query))
    return chosen, limit


def _exact(query: Mapping[str, str], limit: int, name: str) -> bool:
    """Report whether a list must have exactly the state of its resourceVersion, as pages do."""
    match = query.get("resourceVersionMatch", "")
    return match == "Exact" or (not match and limit > 0 and not name)


def _named(table: Table, namespace: str, name: str) -> Iterable[Document]:
    spaces = [namespace] if namespace else sorted(table.namespaces, key=lambda one: one + "/")
    found = (table.get(space, name) for space in spaces)
    return [one for one in found if one is not None]


def _page(
    found: Iterable[Document], limit: int, match: Matcher | None
) -> tuple[list[Document], int]:
    """Return the first `limit` matching objects, and the number of all objects that follow."""
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


def check_list_options(options: Mapping[str, str]) -> None:
    """Validate the options of a list. Raises Invalid."""
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


__all__ = ["get", "invalid", "list_"]
