"""Audit of requests from arrival to response, as the policy requires.

An event is a document (`audit.k8s.io/v1` Event) with its fields in upstream's order.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping
from typing import Any, Final, Protocol
from urllib.parse import urlencode

import msgspec

from kapy._aio.clock import Clock
from kapy.apiserver.audit.policy import API_VERSION, Level, Policy, Verdict
from kapy.apiserver.auth.authorization import Attributes
from kapy.apiserver.metrics.counters import AuditCounters
from kapy.apiserver.request import body
from kapy.apiserver.request.request_info import request_info
from kapy.apiserver.resources.metadata import new_uid
from kapy.apiserver.verbs.watch import WatchStream
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.http import ANONYMOUS, Arrival, Reply, Request, Transport, User
from kapy.kube.meta import micro_time

_RECEIVED, _STARTED, _COMPLETE, _PANIC = (
    *("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"),
)
_WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_OBJECTS: Final = frozenset({"create", "update"})
_ANNOTATION: Final = "authorization.k8s.io/"

_BODIES: Final = ("requestObject", "responseObject")
_CUT_OFF: Final = {
    "metadata": {},
    "status": "Success",
    "message": "Connection closed early",
    "code": 200,
}
"""kube-apiserver's response status for a request whose client disconnected."""
_AUDIT_ID_LIMIT: Final = 64

_log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode

_AGENT_LIMIT: Final = 1024
_STATUS: Final = ("metadata", "status", "message", "reason", "details", "code")


class AuditedRequest:
    """One request that is audited."""

    __slots__ = ("asked", "event", "received", "request", "verdict")

    def __init__(
        self,
        request: Request,
        attributes: Attributes,
        verdict: Verdict,
        event: Document,
        received: str,
    ) -> None:
        self.request = request
        self.asked = attributes
        self.verdict = verdict
        self.event = event
        self.received = received

    def set_impersonated_user(self, user: User) -> None:
        """Record that the user impersonates another one."""
        _set_impersonated_user(self.event, user)


class Lines(Protocol):
    """The destination of the lines of the audit log: `kapy.apiserver.audit.log.LogQueue`."""

    def put(self, line: bytes) -> bool:
        """Take a line; return whether there was room."""

    async def run(self) -> None:
        """Write lines until cancelled."""


class Auditor:
    """The audit of one server. counts: the audit metrics."""

    def __init__(
        self,
        policy: Policy,
        log: Lines,
        *,
        clock: Clock,
        counts: AuditCounters,
        rng: random.Random,
    ) -> None:
        self._policy = policy
        self._log = log
        self._clock = clock
        self._counts = counts
        self._rng = rng

    async def run(self) -> None:
        """Write lines until cancelled."""
        await self._log.run()

    def put_line(self, line: bytes) -> None:
        """Write an event of another process, which has counted it."""
        if not self._log.put(line):
            self._counts.lost += 1

    async def audit_in_process(self, request: Request, answer: Transport) -> Reply:
        """Answer an in-process request and audit it like a network request."""
        if request.arrival is None:
            query = f"?{urlencode(request.query)}" if request.query else ""
            name = request.headers.get("audit-id") or new_uid(self._rng)
            request.arrival = Arrival(name, request.path + query, user=request.user)
        trail = self.begin(request)
        try:
            reply = await answer(request)
        except BaseException:
            if trail is not None:
                self.record_disconnect(trail)
            raise
        if trail is not None:
            self.record_response(trail, reply)
        return reply

    def begin(self, request: Request) -> AuditedRequest | None:
        """Start the audit of a request; return None if the policy does not audit it."""
        arrival = request.arrival
        assert arrival is not None
        attributes = request_info(request).attributes(arrival.user or ANONYMOUS)
        verdict = self._policy.verdict(attributes, authenticated=arrival.user is not None)
        self._counts.levels[verdict.level.shown] += 1
        if verdict.level is Level.NONE:
            return None
        arrival.needs_document = verdict.level >= Level.REQUEST_RESPONSE
        event = _new_event(attributes, request, arrival, verdict.level.shown)
        received = micro_time(self._clock())
        trail = AuditedRequest(request, attributes, verdict, event, received)
        if arrival.user is not None:
            self._write(trail, _RECEIVED, {}, received)
        return trail

    def record_response(self, trail: AuditedRequest, reply: Reply) -> None:
        """Write the event of a response. A watch gets an event when it starts."""
        if trail.verdict.level >= Level.METADATA and trail.asked.is_resource:
            try:
                self._add_bodies(trail, reply)
            except Exception:  # log the event without bodies
                _log.exception("the audit event %s has no bodies", _id_of(trail))
        status = _response_status(reply.status, reply.body)
        annotations = _annotations(trail.request.arrival)
        later = {"responseStatus": status, **annotations}
        stream = reply.body
        if isinstance(stream, WatchStream):
            self._write(trail, _STARTED, later)
            stream.ended.append(lambda: self._write(trail, _COMPLETE, later))
            return
        arrival = trail.request.arrival
        self._write(trail, _PANIC if arrival is not None and arrival.failed else _COMPLETE, later)

    def record_disconnect(self, trail: AuditedRequest) -> None:
        """Record that the client disconnected or that there is no response."""
        later = {"responseStatus": _CUT_OFF, **_annotations(trail.request.arrival)}
        self._write(trail, _COMPLETE, later)

    def record_unauthenticated(self, trail: AuditedRequest, reply: Reply, why: str) -> None:
        """Record a request that could not be authenticated."""
        status = {"metadata": {}, "message": why, "code": reply.status}
        self._write(trail, _STARTED, {"responseStatus": status})

    def _add_bodies(self, trail: AuditedRequest, reply: Reply) -> None:
        level, verb = trail.verdict.level, trail.asked.verb
        wanted = level >= Level.REQUEST
        if verb in _OBJECTS or (wanted and verb in _WRITES):
            sent = _body_of(trail.request)
            if verb in _OBJECTS and isinstance(sent, dict):
                _complete_object_reference(trail.event, sent)
            if wanted and sent is not None:
                trail.event["requestObject"] = self._body_for_log(trail, sent)
        if level >= Level.REQUEST_RESPONSE and isinstance(reply.body, dict):
            trail.event["responseObject"] = self._body_for_log(trail, reply.body)

    @staticmethod
    def _body_for_log(trail: AuditedRequest, document: Any) -> Any:
        if trail.verdict.omit_managed_fields:
            return without_managed_fields(document)
        return document

    def _write(
        self, trail: AuditedRequest, stage: str, later: Mapping[str, Any], moment: str | None = None
    ) -> None:
        if stage in trail.verdict.omit_stages:
            return
        times = {
            "requestReceivedTimestamp": trail.received,
            "stageTimestamp": moment or micro_time(self._clock()),
        }
        event = {**trail.event, "stage": stage, **later, **times}
        try:
            line = _encode(event) + b"\n"
        except Exception:
            _log.exception("the audit event %s has no bodies", _id_of(trail))
            line = (
                _encode({key: value for key, value in event.items() if key not in _BODIES}) + b"\n"
            )
        if self._log.put(line):
            self._counts.events += 1
        else:
            self._counts.lost += 1


def _id_of(trail: AuditedRequest) -> str:
    return str(trail.event.get("auditID", ""))[:_AUDIT_ID_LIMIT]


def _annotations(arrival: Arrival | None) -> Document:
    if arrival is None or not arrival.decision:
        return {}
    result = {"decision": arrival.decision, "reason": arrival.reason}
    return {"annotations": {f"{_ANNOTATION}{key}": value for key, value in result.items()}}


def _body_of(request: Request) -> Any:
    """Return the body as JSON data, None if there is no readable one."""
    raw = request.body
    if raw is None or isinstance(raw, dict | list):
        return raw
    if not raw:
        return None
    media = request.headers.get("content-type", "").partition(";")[0].strip()
    try:
        if raw.startswith(b"k8s\0"):
            from kapy.apiserver.encoding import protobuf

            return protobuf.decode_protobuf(raw)
        return body.decode_yaml(raw) if media.endswith("yaml") else body.decode_json(raw)
    except (body.InvalidJson, KapyError, ValueError):
        return None


def _new_event(attributes: Attributes, request: Request, arrival: Arrival, level: str) -> Document:
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


def _set_impersonated_user(event: Document, user: User) -> None:
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


def _complete_object_reference(event: Document, document: Document) -> None:
    """Complete objectRef from the metadata of the object in the body."""
    metadata, reference = document.get("metadata"), event.get("objectRef")
    if not isinstance(metadata, dict) or reference is None:
        return
    for field in ("namespace", "name", "uid", "resourceVersion"):
        value = metadata.get(field)
        if value and isinstance(value, str):
            reference.setdefault(field, value)


def _response_status(code: int, body: object) -> Document:
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
