"""Conversion webhooks of CustomResourceDefinitions (`apiextensions.k8s.io/v1`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from kapy.apiserver.errors import StorageFailure, failure_status
from kapy.apiserver.resources.metadata import annotation_errors, label_errors
from kapy.apiserver.resources.review_versions import V1, first_supported, kind_error, uid_error
from kapy.apiserver.resources.structs import json_type_name
from kapy.apiserver.webhooks.client_config import ClientConfig
from kapy.apiserver.webhooks.webhook_client import CallFailed, WebhookClient
from kapy.kube import Document
from kapy.kube.field_errors import FieldError
from kapy.kube.names import split_api_version

GROUP, KIND = "apiextensions.k8s.io", "ConversionReview"
SECONDS = 30
_SHOWN = 4096
"""The most characters of an object in an error message."""
_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


class ConversionWebhookFailed(StorageFailure):
    """Objects were not converted (500). kind: the failure type in metrics."""

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message, status=failure_status(message))
        self.kind = f"conversion_webhook_{kind}_failure"


class _InvalidResponse(Exception):
    """The response of a webhook is not a valid conversion of its input."""


async def convert_by_webhook(
    calls: WebhookClient,
    conversion: Document,
    documents: Sequence[Document],
    version: str,
    uid: str,
) -> list[Document]:
    """Convert objects of one kind to another apiVersion by the webhook.

    conversion: `spec.conversion` of the definition. Raises ConversionWebhookFailed with
    kube-apiserver's message if the call fails or the webhook changes fields that it must not.
    """
    first = documents[0]
    if not first.keys() - {"apiVersion", "kind"}:
        # Partial objects without content need no conversion, and webhooks do not expect them.
        return [{**document, "apiVersion": version} for document in documents]
    group, source = split_api_version(first["apiVersion"])
    about = f"conversion webhook for {group}/{source}, Kind={first['kind']}"
    hook = conversion["webhook"]
    spoken = first_supported(hook.get("conversionReviewVersions") or ())
    if not spoken:
        raise ConversionWebhookFailed("no supported conversion review versions", "call")
    request = {"uid": uid, "desiredAPIVersion": version, "objects": list(documents)}
    review: Document = {
        "kind": KIND,
        "apiVersion": f"{GROUP}/{spoken}",
        "request": request,
        "response": {"uid": "", "convertedObjects": None, "result": {"metadata": {}}},
    }
    try:
        client = ClientConfig.from_document(hook["clientConfig"])
        value = _objects(await calls.call(client, review, SECONDS), uid, spoken)
    except (CallFailed, _InvalidResponse) as error:
        kind = "call" if isinstance(error, CallFailed) else "malformed_response"
        raise ConversionWebhookFailed(f"{about} failed: {error}", kind) from None
    if len(value) != len(documents):
        why = f"{about} returned {len(value)} objects, expected {len(documents)}"
        raise ConversionWebhookFailed(why, "partial_response")
    result = []
    for index, (number, other) in enumerate(zip(documents, value, strict=True)):
        _check_type(about, index, number, other, version)
        try:
            _check_identity(number, other)
        except _InvalidResponse as error:
            raise _failure(f"{about} returned invalid object: {error}") from None
        try:
            result.append(_restore_metadata(number, other))
        except _InvalidResponse as error:
            raise _failure(f"{about} returned invalid metadata: {error}") from None
    return result


def _failure(message: str) -> ConversionWebhookFailed:
    return ConversionWebhookFailed(message, "invalid_converted_object")


def _objects(document: Document, uid: str, version: str) -> list[Any]:
    """Return the objects in the response to a review of this version. Raises _InvalidResponse."""
    if version == V1 and (why := kind_error(document, GROUP, KIND)):
        raise _InvalidResponse(why)
    response = document.get("response")
    if response is None:
        raise _InvalidResponse("no response provided")
    if not isinstance(response, dict):
        field = f"ConversionReview.response of type {version}.ConversionResponse"
        raise _InvalidResponse(
            f"json: cannot unmarshal {json_type_name(response)} into Go struct field {field}"
        )
    if version == V1 and (why := uid_error(document, uid)):
        raise _InvalidResponse(why)
    result = response.get("result") or {}
    if not isinstance(result, dict):
        raise _InvalidResponse(_member(result, "result", "v1.Status"))
    status = result.get("status") or ""
    if status != "Success":
        raise _InvalidResponse(
            result.get("message") or f"response.result.status was '{status}', not 'Success'"
        )
    objects = response.get("convertedObjects")
    if objects is None:
        return []
    if not isinstance(objects, list):
        raise _InvalidResponse(_member(objects, "convertedObjects", "[]runtime.RawExtension"))
    return objects


def _member(value: Any, name: str, wanted: str) -> str:
    """Return the error for a member of the response with a wrong type."""
    field = f"ConversionResponse.response.{name} of type {wanted}"
    return f"json: cannot unmarshal {json_type_name(value)} into Go struct field {field}"


def _check_type(about: str, index: int, value: Document, other: Any, version: str) -> None:
    result = f"{about} returned invalid object at index {index}"
    if other is None:
        raise _failure("unexpected end of JSON input")
    if not isinstance(other, dict):
        wanted = "map[string]interface {}"
        raise _failure(
            f"json: cannot unmarshal {json_type_name(other)} into Go value of type {wanted}"
        )
    if not (kind := other.get("kind")) or not isinstance(kind, str):
        shown = "".join(islice(_text.iterencode(other), _SHOWN))[:_SHOWN]
        raise _failure(f"Object 'Kind' is missing in '{shown}'")
    results = other.get("apiVersion") or ""
    if results != version:
        raise _failure(f"{result}: invalid groupVersion (expected {version}, received {results})")
    if kind != value["kind"]:
        raise _failure(f"{result}: invalid kind (expected {value['kind']}, received {kind})")


_GO_TYPES: Final[dict[type, str]] = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


def go_type(value: Any) -> str:
    """Return the Go type name of a decoded JSON value."""
    return _GO_TYPES.get(type(value), "<nil>")


_IDENTITY = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))


def _check_identity(value: Document, other: Document) -> None:
    meta = other.get("metadata")
    metadata = meta if isinstance(meta, dict) else {}
    for field, item in _IDENTITY:
        before = (value.get("metadata") or {}).get(field, "")
        after = metadata.get(field)
        after = after if isinstance(after, str) else ""
        if before != after:
            raise _InvalidResponse(f"must have the same {item}: {before} != {after}")


def _restore_metadata(item: Document, other: Document) -> Document:
    """Restore the metadata of the converted object except labels and annotations."""
    metadata = other.get("metadata")
    if "metadata" not in other:
        raise _InvalidResponse("missing metadata in converted object")
    if not isinstance(metadata, dict):
        raise _InvalidResponse(f"invalid metadata of type {go_type(metadata)} in converted object")
    meta = {**(item.get("metadata") or {})}
    for field in ("labels", "annotations"):
        values = metadata.get(field)
        if values is None:
            meta.pop(field, None)
            continue
        if not isinstance(values, dict):
            raise _InvalidResponse(
                f"invalid metadata.{field} of type {go_type(values)} in converted object"
            )
        for key, value in values.items():
            if not isinstance(value, str):
                result = f"must be a string, but is {go_type(value)} in converted object"
                raise _InvalidResponse(f"metadata.{field}[{key}] {result}")
        if values != meta.get(field) and (errors := _errors(field, values)):
            lines = [str(error) for error in errors]
            raise _InvalidResponse(lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]")
        meta[field] = values
    return {**other, "metadata": meta}


def _errors(field: str, values: dict[str, str]) -> list[FieldError]:
    if field == "labels":
        return label_errors(values, "metadata.labels")
    return annotation_errors(values, "metadata.annotation")
