"""Serialization of objects in responses: version, full object, metadata only, or Table."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw

from kapy.apiserver.errors import StorageFailure, failure_status
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.request.negotiation import AVAILABLE, MediaType, negotiate
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.verbs.context import ServerContext
from kapy.kube import Document
from kapy.kube.errors import NotAcceptable
from kapy.kube.http import Reply


def check_acceptable(context: RequestContext) -> None:
    """Check, before a request is executed, that the client accepts the response.

    Raises NotAcceptable; for built-in kinds with the message of kube-apiserver's router.
    """
    header = context.request.headers["accept"]
    if not context.kind.custom and header:
        named = {clause.partition(";")[0].strip() for clause in header.split(",")}
        if not named & _ROUTED:
            streams = _STREAMS if context.verb in ("list", "watch") else ""
            message = f"406: Not Acceptable\n\nAvailable representations: {AVAILABLE}{streams}"
            raise NotAcceptable(message, details={})
    negotiate(context.request.headers)


_ROUTED = {*AVAILABLE.split(", "), "*/*"}
_STREAMS = ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"


def partial_metadata(document: Document, version: str) -> Document:
    """Return an object's PartialObjectMetadata."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": document["metadata"],
    }


async def serialize_response(
    server: ServerContext, context: RequestContext, document: Document, status: int = 200
) -> Reply:
    """Return the response with one stored object, in the form that the client accepts."""
    if document["apiVersion"] != context.kind.resource.api_version:
        (document,) = await server.converter.to_version((document,), context.kind.resource)
    accept = negotiate(context.request.headers)
    if accept.form:
        document = _transform(server, context, (document,), accept, document["metadata"])
    return Reply(status, document)


def _transform(
    server: ServerContext,
    context: RequestContext,
    documents: Sequence[Document],
    accept: MediaType,
    metadata: Document,
) -> Document:
    if accept.form == "Table":
        from kapy.apiserver.verbs.tables import object_table

        return object_table(context, documents, accept.version, metadata, server.clock)
    if accept.form == "PartialObjectMetadataList":
        if not context.kind.custom:
            raise NotAcceptable(
                "you requested PartialObjectMetadataList, but the requested object is not a list "
                f"({_go_type(context.kind, context.kind.resource.kind)})"
            )
        message = "content is not a list"
        raise StorageFailure(message, status=failure_status(message))
    return partial_metadata(documents[0], accept.version)


def serialize_list(
    server: ServerContext,
    context: RequestContext,
    documents: Sequence[Document],
    metadata: Document,
) -> Document:
    """Return the list document of a kind."""
    accept = negotiate(context.request.headers)
    if accept.form == "Table":
        return _transform(server, context, documents, accept, metadata)
    if accept.form == "PartialObjectMetadata":
        raise NotAcceptable(
            "you requested PartialObjectMetadata, but the requested object is a list "
            f"({_go_type(context.kind, context.kind.list_kind)})"
        )
    if accept.form:
        return {
            "kind": "PartialObjectMetadataList",
            "apiVersion": f"meta.k8s.io/{accept.version}",
            "metadata": metadata,
            "items": [partial_metadata(document, accept.version) for document in documents] or None,
        }
    kind = context.kind
    if kind.custom:
        metadata.setdefault("continue", "")
        return {
            "apiVersion": kind.resource.api_version,
            "items": _list_items(server, context, documents),
            "kind": kind.list_kind,
            "metadata": metadata,
        }
    return {
        "kind": kind.list_kind,
        "apiVersion": kind.resource.api_version,
        "metadata": metadata,
        "items": [_without_type(document) for document in documents],
    }


def _list_items(
    server: ServerContext, context: RequestContext, documents: Sequence[Document]
) -> Sequence[Document | Raw]:
    """Return the items of a list; cached JSON is reused for responses over the network."""
    request = context.request
    if not isinstance(request.body, bytes) or "yaml" in request.headers.get("accept", ""):
        return documents
    encoded = server.table(context.kind).find_encoding
    return [Raw(result) if (result := encoded(document)) else document for document in documents]


def _go_type(kind: Kind, name: str) -> str:
    """Return the Go type name of a kind's object or list."""
    if kind.custom:
        return "*unstructured.UnstructuredList"
    return f"*{kind.resource.group.partition('.')[0] or 'core'}.{name}"


def _without_type(document: Document) -> Document:
    """Return a list item without kind and apiVersion, which built-in kinds omit in lists."""
    return {key: value for key, value in document.items() if key not in ("kind", "apiVersion")}
