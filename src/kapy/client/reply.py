"""Decodes a Reply: its document, or the error of a failed one."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from kapy.kube import Document
from kapy.kube.errors import ApiError, error_of
from kapy.kube.foreign_json import BadJson, decode_json
from kapy.kube.http import Reply


def document_of(reply: Reply) -> Document:
    """Return the document in a reply; raises ServerError if the body is not a JSON object."""
    body = reply.body
    if isinstance(body, dict):
        return body
    if isinstance(body, bytes):
        try:
            result = decode_json(body)
        except BadJson as error:
            raise error_of(502, {"message": f"the answer is not JSON: {error}"}) from None
        if isinstance(result, dict):
            return result
    raise error_of(502, {"message": "the answer is not a JSON object"})


def failure_of(reply: Reply) -> ApiError:
    """Return the error of a reply with a failure status; a body that is not a Status becomes its
    text.
    """
    wait = retry_after(reply.headers)
    body: Any = reply.body
    if isinstance(body, bytes):
        try:
            body = decode_json(body)
        except BadJson:
            body = body.decode("utf-8", "replace").strip()[:500]
    if isinstance(body, dict) and body.get("kind", "Status") == "Status":
        return error_of(reply.status, {"code": reply.status, **body}, retry_after=wait)
    message = body if isinstance(body, str) and body else f"the server answered {reply.status}"
    status = {"kind": "Status", "message": message, "code": reply.status}
    return error_of(reply.status, status, retry_after=wait)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds in a Retry-After header; None if it is missing or not a number.

    Kubernetes never sends the date form.
    """
    text = headers.get("retry-after") or headers.get("Retry-After")
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        return None
    return max(0.0, seconds) if isfinite(seconds) else None
