"""Serialization of objects in responses: version, full object, metadata only, or Table."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw

from kapy.apiserver.ask import Ask
from kapy.apiserver.negotiation import AVAILABLE, Accept, accepted
from kapy.apiserver.plane import Plane
from kapy.apiserver.refusals import StorageFailure, plain_failure
from kapy.apiserver.resources.kind import Kind
from kapy.kube import Document
from kapy.kube.errors import NotAcceptable
from kapy.kube.http import Reply


def check_acceptable(ask: Ask) -> None:
    """Check, before a request is executed, that the client accepts the response.

    Raises NotAcceptable; for built-in kinds with the message of kube-apiserver's router.
    """
    header = ask.request.headers["accept"]
    if not ask.kind.custom and header:
        named = {clause.partition(";")[0].strip() for clause in header.split(",")}
        if not named & _ROUTED:
            streams = _STREAMS if ask.verb in ("list", "watch") else ""
            message = f"406: Not Acceptable\n\nAvailable representations: {AVAILABLE}{streams}"
            raise NotAcceptable(message, details={})
    accepted(ask.request.headers)


_ROUTED = {*AVAILABLE.split(", "), "*/*"}
_STREAMS = ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"


def partial_metadata(document: Document, version: str) -> Document:
    """Return an object's PartialObjectMetadata."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": document["metadata"],
    }


async def shown(plane: Plane, ask: Ask, document: Document, status: int = 200) -> Reply:
    """Return the reply with one stored object."""
    if document["apiVersion"] != ask.kind.resource.api_version:
        (document,) = await plane.in_version((document,), ask.kind.resource)
    accept = accepted(ask.request.headers)
    if accept.form:
        document = _formed(plane, ask, (document,), accept, document["metadata"])
    return Reply(status, document)


def _formed(
    plane: Plane, ask: Ask, documents: Sequence[Document], accept: Accept, metadata: Document
) -> Document:
    if accept.form == "Table":
        from kapy.apiserver.tables import table

        return table(ask, documents, accept.version, metadata, plane.clock)
    if accept.form == "PartialObjectMetadataList":
        if not ask.kind.custom:
            raise NotAcceptable(
                "you requested PartialObjectMetadataList, but the requested object is not a list "
                f"({_go_type(ask.kind, ask.kind.resource.kind)})"
            )
        message = "content is not a list"
        raise StorageFailure(message, status=plain_failure(message))
    return partial_metadata(documents[0], accept.version)


def listed(plane: Plane, ask: Ask, documents: Sequence[Document], metadata: Document) -> Document:
    """Return the list document of a kind."""
    accept = accepted(ask.request.headers)
    if accept.form == "Table":
        return _formed(plane, ask, documents, accept, metadata)
    if accept.form == "PartialObjectMetadata":
        raise NotAcceptable(
            "you requested PartialObjectMetadata, but the requested object is a list "
            f"({_go_type(ask.kind, ask.kind.list_kind)})"
        )
    if accept.form:
        return {
            "kind": "PartialObjectMetadataList",
            "apiVersion": f"meta.k8s.io/{accept.version}",
            "metadata": metadata,
            "items": [partial_metadata(one, accept.version) for one in documents] or None,
        }
    kind = ask.kind
    if kind.custom:
        metadata.setdefault("continue", "")
        return {
            "apiVersion": kind.resource.api_version,
            "items": _items(plane, ask, documents),
            "kind": kind.list_kind,
            "metadata": metadata,
        }
    return {
        "kind": kind.list_kind,
        "apiVersion": kind.resource.api_version,
        "metadata": metadata,
        "items": [_untyped(one) for one in documents],
    }


def _items(plane: Plane, ask: Ask, documents: Sequence[Document]) -> Sequence[Document | Raw]:
    """Return the items of a list; cached JSON is reused for responses over the network."""
    request = ask.request
    if not isinstance(request.body, bytes) or "yaml" in request.headers.get("accept", ""):
        return documents
    encoded = plane.table(ask.kind).encoded
    return [Raw(found) if (found := encoded(one)) else one for one in documents]


def _go_type(kind: Kind, name: str) -> str:
    """Return the Go type name of a kind's object or list."""
    if kind.custom:
        return "*unstructured.UnstructuredList"
    return f"*{kind.resource.group.partition('.')[0] or 'core'}.{name}"


def _untyped(document: Document) -> Document:
    """Return a list item without kind and apiVersion, which built-in kinds omit in lists."""
    return {key: value for key, value in document.items() if key not in ("kind", "apiVersion")}
