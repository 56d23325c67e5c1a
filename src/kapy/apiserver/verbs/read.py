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

from kapy._aio.cooperation import Cooperation
from kapy.apiserver.encoding.go_json import syntax_error
from kapy.apiserver.errors import (
    StorageFailure,
    failure_status,
    invalid_parameters,
    invalid_resource_version_message,
)
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.request.negotiation import negotiate
from kapy.apiserver.request.parameters import int_parameter
from kapy.apiserver.request.selection import EVERYTHING, Selection, parse_selection
from kapy.apiserver.resources.kind_errors import not_found
from kapy.apiserver.store.table import Table
from kapy.apiserver.store.watcher import Matcher
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.serialization import serialize_list, serialize_response
from kapy.kube import Document
from kapy.kube.digits import parse_digits
from kapy.kube.errors import ApiError, BadRequest, Expired
from kapy.kube.field_errors import FieldError, forbidden, invalid
from kapy.kube.foreign_json import BadJson, decode_json
from kapy.kube.http import Reply

_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


class ResourceVersionTooLarge(ApiError):
    """The requested resourceVersion is newer than the store (504, reason Timeout)."""

    code = 504
    reason = "Timeout"


async def get(server: ServerContext, context: RequestContext) -> Reply:
    """Handle the verb get: return the response with one object."""
    arrival = context.request.arrival
    if arrival is not None and not arrival.needs_document:
        encoded = _stored_json(server, context)
        if encoded:
            return Reply(200, encoded, _JSON)
    return await serialize_response(server, context, get_stored(server, context))


def _stored_json(server: ServerContext, context: RequestContext) -> bytes:
    """Return the stored JSON of the object that the path names if it is the response, else b"".

    Raises ResourceVersionTooLarge, StorageFailure, NotAcceptable.
    """
    request, kind = context.request, context.kind
    table = server.store.peek(kind.table)
    if table is None:
        return b""
    encoded = table.find_json(context.namespace, context.name, kind.json_begins)
    if not encoded:
        return b""
    version = request.query.get("resourceVersion")
    if version:
        check_not_ahead(server, parse_storage_version(version))
    accept = negotiate(request.headers)
    return b"" if accept.form or accept.yaml else encoded


_JSON: Final = {"content-type": "application/json"}


def get_stored(server: ServerContext, context: RequestContext) -> Document:
    """Return the object that the path names, at least as new as the query's resourceVersion.

    Raises NotFound, ResourceVersionTooLarge, StorageFailure.
    """
    version = context.request.query.get("resourceVersion")
    if version:
        check_not_ahead(server, parse_storage_version(version))
    table = server.store.peek(context.kind.table)
    document = None if table is None else table.get(context.namespace, context.name)
    if document is None:
        raise not_found(context.kind, context.name)
    return document


async def to_requested_version(
    server: ServerContext, context: RequestContext, stored: Document
) -> Document:
    """Convert a stored object to the version of the request."""
    if stored["apiVersion"] == context.kind.resource.api_version:
        return stored
    (document,) = await server.converter.to_version((stored,), context.kind.resource)
    return document


def parse_storage_version(text: str) -> int:
    """Parse a resourceVersion that is checked by the storage layer only (get and watch).

    Returns 0 if it is empty. Raises StorageFailure.
    """
    result = _number(text)
    if result is None:
        message = invalid_resource_version_message(text)
        raise StorageFailure(message, status=failure_status(message))
    return result


def parse_resource_version(text: str) -> int:
    """Parse a resourceVersion of the query. Raises BadRequest."""
    result = _number(text)
    if result is None:
        raise BadRequest(f"invalid resource version: {invalid_resource_version_message(text)}")
    return result


def _number(text: str) -> int | None:
    number = parse_digits(text or "0")
    return number if number is not None and number < 1 << 64 else None


def check_not_ahead(server: ServerContext, version: int) -> None:
    """Check that the store has reached a resourceVersion. Raises ResourceVersionTooLarge."""
    if version > server.store.revision:
        raise too_large_error(server, version)


def too_large_error(server: ServerContext, version: int) -> ResourceVersionTooLarge:
    """Return the error for a resourceVersion that the store has not reached."""
    return ResourceVersionTooLarge(
        f"Timeout: Too large resource version: {version}, current: {server.store.revision}",
        details={
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ],
            "retryAfterSeconds": 1,
        },
        retry_after=1,
    )


class ContinueToken(NamedTuple):
    """A decoded `continue` parameter: the list continues after the key `after`.

    revision: -1 continues with the newest state.
    """

    revision: int
    after: str


def decode_token(text: str) -> ContinueToken:
    """Decode a `continue` parameter. Raises BadRequest."""
    try:
        value = decode_json_base64(text)
        if not isinstance(value, dict) or value.get("v") != "meta.k8s.io/v1":
            version = value.get("v", "") if isinstance(value, dict) else ""
            raise ValueError(f"server does not recognize this encoded version {version}")
        if not value.get("rv"):
            raise ValueError(f"incorrect encoded start resourceVersion {_OF_VERSION}")
        if not value.get("start"):
            raise ValueError(f"encoded start key empty {_OF_VERSION}")
        return ContinueToken(int(value["rv"]), str(value["start"]))
    except (ValueError, KeyError, TypeError) as error:
        raise BadRequest(f"invalid continue token: continue key is not valid: {error}") from None


_OF_VERSION = "(version meta.k8s.io/v1)"


def decode_json_base64(text: str) -> Any:
    """Decode JSON in unpadded URL-safe base64. Raises ValueError with Go's messages."""
    allowed = re.match(r"[A-Za-z0-9_-]*", text)
    good = allowed.end() if allowed else 0
    if good < len(text) or len(text) % 4 == 1:
        raise ValueError(f"illegal base64 data at input byte {min(good, len(text) - 1)}")
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    try:
        return decode_json(raw)
    except BadJson:
        raise ValueError(syntax_error(raw, encoding="latin-1")) from None


def encode_token(token: ContinueToken) -> str:
    """Encode a `continue` parameter."""
    raw = msgspec.json.encode({"v": "meta.k8s.io/v1", "rv": token.revision, "start": token.after})
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


async def list_objects(server: ServerContext, context: RequestContext) -> Reply:
    """List the objects that a request selects, ordered by namespace and name, in pages if asked."""
    chosen, limit = list_selection(context)
    if not (context.name or chosen.name):
        await decode_in_turns(server.table(context.kind), context.namespace)
    metadata, documents = select_page(server, context, chosen, limit)
    documents = list(await server.converter.to_version(documents, context.kind.resource))
    return Reply(200, serialize_list(server, context, documents, metadata))


async def decode_in_turns(table: Table, namespace: str) -> None:
    """Decode all objects of a namespace ("" = all) that are not decoded yet, and let other tasks
    run in between: the caller is about to read all of them at once.
    """
    cooperation = Cooperation()
    for item, name in table.undecoded(namespace):
        if table.decode(item, name):
            await (asyncio.sleep(0) if table.is_large(item, name) else cooperation.step())


def select_page(
    server: ServerContext, context: RequestContext, chosen: Selection, limit: int
) -> tuple[Document, list[Document]]:
    """Return the list metadata and at most one page of the selected objects. Raises BadRequest."""
    query = context.request.query
    token = decode_token(query["continue"]) if query.get("continue") else None
    revision, results = _list_at_revision(
        server, context, token, limit, context.name or chosen.name
    )
    metadata: Document = {"resourceVersion": str(revision)}
    if query.get("resourceVersion") == "0":
        limit = 0  # kube-apiserver serves this from its watch cache, which ignores the limit
    if limit <= 0:
        return metadata, list(results if chosen.match is None else filter(chosen.match, results))
    documents, more = _page(results, limit, chosen.match)
    if more:
        metadata["continue"] = encode_token(ContinueToken(revision, _position(documents[-1])))
        if chosen.match is None:
            metadata["remainingItemCount"] = more
    return metadata, documents


def _list_at_revision(
    server: ServerContext,
    context: RequestContext,
    token: ContinueToken | None,
    limit: int,
    name: str,
) -> tuple[int, Iterable[Document]]:
    """Return the revision of a list and its objects before selectors apply.

    Raises BadRequest, Expired.
    """
    table, query, now = server.table(context.kind), context.request.query, server.store.revision
    version = query.get("resourceVersion", "")
    version = "" if version == "0" else version
    if token is not None:
        if version:
            raise BadRequest("specifying resource version is not allowed when using continue")
        if 0 < token.revision < server.store.history.floor:
            raise _expired_token(token)
        revision = token.revision if token.revision > 0 else now
        return revision, _after_position(
            _content_at(server, table, context.namespace, revision), token.after
        )
    if version:
        check_not_ahead(server, parse_resource_version(version))
    if version and _is_exact(query, limit, name):
        revision = parse_resource_version(version)
        if revision < server.store.history.floor:
            raise _expired_revision(server, revision)
        return revision, _content_at(server, table, context.namespace, revision)
    return now, by_name(table, context.namespace, name) if name else table.scan(context.namespace)


def list_selection(context: RequestContext) -> tuple[Selection, int]:
    """Return the selection and the limit of list or deletecollection. Raises BadRequest,
    Invalid.
    """
    query = context.request.query
    if not query:
        return EVERYTHING, 0
    int_parameter(query, "timeoutSeconds")
    limit = int_parameter(query, "limit") or 0
    chosen = parse_selection(context.kind, query, partial(check_list_options, query))
    return chosen, limit


def _is_exact(query: Mapping[str, str], limit: int, name: str) -> bool:
    """Report whether a list must have exactly the state of its resourceVersion, as pages do."""
    match = query.get("resourceVersionMatch", "")
    return match == "Exact" or (not match and limit > 0 and not name)


def by_name(table: Table, namespace: str, name: str) -> Iterable[Document]:
    """Return the objects of a name, in a namespace or in all."""
    spaces = [namespace] if namespace else sorted(table.namespaces, key=lambda value: value + "/")
    result = (table.get(space, name) for space in spaces)
    return [item for item in result if item is not None]


def _page(
    values: Iterable[Document], limit: int, match: Matcher | None
) -> tuple[list[Document], int]:
    """Return the first `limit` matching objects, and the number of all objects that follow."""
    iterator = iter(values)
    matching = iterator if match is None else filter(match, iterator)
    documents = list(itertools.islice(matching, limit))
    return documents, sum(1 for _ in iterator)


def _position(document: Document) -> str:
    metadata = document["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def _after_position(documents: Iterable[Document], position: str) -> Iterable[Document]:
    return (document for document in documents if _position(document) > position)


def _content_at(
    server: ServerContext, table: Table, namespace: str, revision: int
) -> Iterable[Document]:
    if revision >= server.store.revision:
        return table.scan(namespace)
    then = server.store.history.as_of(table.name, revision, table.content(namespace))
    if namespace:
        then = {key: value for key, value in then.items() if key[0] == namespace}
    return [then[key] for key in sorted(then, key=lambda entry: f"{entry[0]}/{entry[1]}")]


def _expired_token(token: ContinueToken) -> ApiError:
    error = Expired(_TOO_OLD)
    status = error.status()
    status["metadata"] = {
        "continue": encode_token(ContinueToken(-1, token.after)),
    }
    return Expired(_TOO_OLD, status=status)


def _expired_revision(server: ServerContext, revision: int) -> ApiError:
    return Expired(
        f"The resourceVersion for the provided list is too old. ({revision})"
        if server is None
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
        raise invalid_parameters("ListOptions", errors)


__all__ = ["get", "invalid", "list_objects"]
