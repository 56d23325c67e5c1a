"""Audit events: `audit.k8s.io/v1` Event, with fields in upstream's order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kapy.apiserver.audit.policy import API_VERSION
from kapy.apiserver.auth.authorization import Attributes
from kapy.kube import Document
from kapy.kube.http import Arrival, Request, User

_AGENT_LIMIT: Final = 1024
_STATUS: Final = ("metadata", "status", "message", "reason", "details", "code")


def new_event(attributes: Attributes, request: Request, arrival: Arrival, level: str) -> Document:
    """Return the audit event of a request that has arrived."""
    event: Document = {
        "kind": "Event",
        "apiVersion": API_VERSION,
        "level": level,
        "auditID": arrival.audit_id,
        "stage": "",
        "requestURI": arrival.uri,
        "verb": attributes.verb,
        "user": {} if arrival.user is None else _user(arrival.user),
    }
    sources = _sources(request.headers, arrival.peer)
    if sources:
        event["sourceIPs"] = sources
    agent = request.headers.get("user-agent", "")
    if agent:
        long = len(agent) > _AGENT_LIMIT
        event["userAgent"] = f"{agent[:_AGENT_LIMIT]}...TRUNCATED" if long else agent
    if attributes.is_resource:
        event["objectRef"] = _reference(attributes)
    return event


def _user(user: User) -> Document:
    result: Document = {"username": user.name}
    if user.uid:
        result["uid"] = user.uid
    if user.groups:
        result["groups"] = list(user.groups)
    if user.extra:
        result["extra"] = {key: list(values) for key, values in user.extra.items()}
    return result


def set_impersonated_user(event: Document, user: User) -> None:
    """Record the user that the requester impersonates in an audit event."""
    event["impersonatedUser"] = _user(user)


def _reference(attributes: Attributes) -> Document:
    named = {
        "resource": attributes.resource,
        "namespace": attributes.namespace,
        "name": attributes.name,
        "apiGroup": attributes.group,
        "apiVersion": attributes.version,
        "subresource": attributes.subresource,
    }
    return {key: value for key, value in named.items() if value}


def complete_object_reference(event: Document, document: Document) -> None:
    """Complete objectRef from the metadata of the object in the body."""
    metadata, reference = document.get("metadata"), event.get("objectRef")
    if not isinstance(metadata, dict) or reference is None:
        return
    for field in ("namespace", "name", "uid", "resourceVersion"):
        value = metadata.get(field)
        if value and isinstance(value, str):
            reference.setdefault(field, value)


def response_status(code: int, body: object) -> Document:
    """Return responseStatus: all of a Status, for other responses only the code."""
    if isinstance(body, dict) and body.get("kind") == "Status" and body.get("apiVersion") == "v1":
        status = {key: body[key] for key in _STATUS if key in body}
        return {"metadata": {}, **status, "code": code}
    return {"metadata": {}, "code": code}


def without_managed_fields(body: Any) -> Any:
    """Return a copy of an object, a list or a Table without managedFields."""
    if isinstance(body, msgspec.Raw):  # an encoded list item
        body = msgspec.json.decode(body)
    if not isinstance(body, dict):
        return body
    if isinstance(body.get("items"), list):
        return {**body, "items": [without_managed_fields(item) for item in body["items"]]}
    if body.get("kind") == "Table" and isinstance(body.get("rows"), list):
        rows = [
            {**row, "object": without_managed_fields(row.get("object"))} for row in body["rows"]
        ]
        return {**body, "rows": rows}
    metadata = body.get("metadata")
    if isinstance(metadata, dict) and "managedFields" in metadata:
        trimmed = {key: value for key, value in metadata.items() if key != "managedFields"}
        return {**body, "metadata": trimmed}
    return body


def _sources(headers: Mapping[str, str], peer: str) -> list[str]:
    """Return the source addresses of a request.

    The client's claims come first; only the last one can be trusted.
    """
    strips = [
        part.strip() for part in headers.get("x-forwarded-for", "").split(",") if part.strip()
    ]
    real = headers.get("x-real-ip", "").strip()
    if real and real not in strips:
        strips.append(real)
    if peer and (not strips or strips[-1] != peer):
        strips.append(peer)
    return strips
