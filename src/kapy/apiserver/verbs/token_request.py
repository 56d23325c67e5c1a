"""The subresource `token` of service accounts: `kubectl create token`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from kapy.apiserver import body
from kapy.apiserver.ask import Ask
from kapy.apiserver.metadata import new_uid, stamp
from kapy.apiserver.plane import Plane
from kapy.apiserver.refusals import not_found
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.tokens import ISSUER, ServiceTokens
from kapy.apiserver.verbs.checks import judged
from kapy.kube import Document
from kapy.kube.errors import BadRequest, Conflict, Invalid
from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.http import Reply
from kapy.kube.names import Resource

_HOUR = 3600
_LEAST = 600
_MOST = 1 << 32
_OBJECTS = {("v1", "Pod"): "pods", ("v1", "Secret"): "secrets", ("v1", "Node"): "nodes"}
_REQUEST = Resource("authentication.k8s.io", "v1", "tokenrequests", "TokenRequest")


async def request_token(plane: Plane, ask: Ask, tokens: ServiceTokens) -> Reply:
    """The request with the token in its status. Raises NotFound, Conflict, Invalid."""
    account = plane.table(ask.kind).get(ask.namespace, ask.name)
    if account is None:
        raise not_found(ask.kind, ask.name)
    document = body.read_object(replace(ask, kind=_kind(ask.kind)))
    document = body.fitted(document, "authentication.v1.TokenRequest")
    document = await judged(plane, ask, document, dry_run=ask.dry_run("CreateOptions"))
    spec = document.get("spec") or {}
    seconds = spec.get("expirationSeconds")
    seconds = _HOUR if seconds is None else seconds
    errors = _errors(seconds)
    if errors:
        raise Invalid.of("TokenRequest", "authentication.k8s.io", "", errors)
    audiences = spec.get("audiences") or [ISSUER]
    bound = _bound(plane, ask, spec.get("boundObjectRef"))
    identity = new_uid(plane.rng)
    token = tokens.issue(account, bound, audiences, seconds, identity)
    meta = {
        "name": ask.name,
        "namespace": ask.namespace,
        "creationTimestamp": stamp(plane.clock()),
    }
    ends = stamp(plane.clock() + timedelta(seconds=seconds))
    return Reply(
        201,
        {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": meta,
            "spec": {**spec, "audiences": audiences, "expirationSeconds": seconds},
            "status": {"token": token, "expirationTimestamp": ends},
        },
    )


def _kind(account: Kind) -> Kind:
    """The kind of the body."""
    return replace(account, resource=_REQUEST)


def _errors(seconds: int) -> list[FieldError]:
    where = "spec.expirationSeconds"
    if seconds < _LEAST:
        return [invalid(where, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > _MOST:
        text = "may not specify a duration larger than 2^32 seconds"
        return [invalid(where, seconds, text)]
    return []


def _bound(plane: Plane, ask: Ask, reference: Document | None) -> tuple[str, str, str] | None:
    """Kind, name and uid of the object that the token dies with."""
    if not reference:
        return None
    version, kind = reference.get("apiVersion", ""), reference.get("kind", "")
    name, uid = reference.get("name", ""), reference.get("uid", "")
    plural = _OBJECTS.get((version, kind))
    if plural is None:
        raise BadRequest(f"cannot bind token for serviceaccount to object type {version}/{kind}")
    known = plane.registry.find("", "v1", plural)
    assert known is not None
    found = plane.table(known).get("" if kind == "Node" else ask.namespace, name)
    if found is None:
        raise not_found(known, name)
    if uid and uid != found["metadata"]["uid"]:
        raise Conflict(
            f'Operation cannot be fulfilled on {plural} "{name}": the UID in the bound object '
            f"reference ({uid}) does not match the UID in record. The object might have been "
            "deleted and then recreated",
            details={"name": name, "kind": plural},
        )
    return kind, name, found["metadata"]["uid"]
