"""The subresource `token` of service accounts: `kubectl create token`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final

from msgspec import structs

from kapy.apiserver.auth.authentication import API_AUDIENCES
from kapy.apiserver.auth.tokens import BoundObject, ServiceAccountTokens
from kapy.apiserver.request import body
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.kind_errors import not_found
from kapy.apiserver.resources.metadata import format_time, new_uid
from kapy.apiserver.verbs.checks import run_admission
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.create import check_namespace_of
from kapy.kube import Document
from kapy.kube.errors import BadRequest, Conflict, Invalid
from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.go_literals import go_quoted
from kapy.kube.http import Reply
from kapy.kube.names import Resource, split_api_version

_HOUR: Final = 3600
_LEAST: Final = 600
_MOST: Final = 1 << 32
_OF_PODS: Final = 3607
"""The expiration in seconds that kubelets request. Such a token stays valid for `_EXTENDED` and
carries the time after which clients should replace it.
"""
_EXTENDED: Final = 365 * 24 * 3600
_OBJECTS: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
_GROUP: Final = "authentication.k8s.io"
_REQUEST: Final = Resource(_GROUP, "v1", "tokenrequests", "TokenRequest")


async def request_token(
    server: ServerContext, context: RequestContext, tokens: ServiceAccountTokens
) -> Reply:
    """Return the TokenRequest with a token in its status. Raises NotFound, Conflict, Invalid."""
    document = await context.compute(
        partial(_read, structs.replace(context, kind=_kind(context.kind)))
    )
    meta = dict(document.get("metadata") or {})
    _check_place(context, meta)
    account = server.table(context.kind).get(context.namespace, context.name)
    if account is None:
        raise not_found(context.kind, context.name)
    document = _complete(server, context, document, meta, account)
    spec = document["spec"]
    document = await run_admission(
        server, context, document, dry_run=context.dry_run("CreateOptions")
    )
    seconds, audiences = spec["expirationSeconds"], spec["audiences"]
    bound = _bound_object(server, context, spec.get("boundObjectRef"))
    ends = format_time(server.clock() + timedelta(seconds=seconds))
    of_pod = any(bound_object.kind == "Pod" for bound_object in bound)
    extended = (
        of_pod and seconds == _OF_PODS and all(audience in API_AUDIENCES for audience in audiences)
    )
    token = tokens.issue(
        account,
        bound,
        audiences,
        _EXTENDED if extended else seconds,
        new_uid(server.rng),
        warn_after=seconds if extended else 0,
    )
    status = {"token": token, "expirationTimestamp": ends}
    return Reply(201, {**document, "status": status})


def _read(context: RequestContext) -> Document:
    return body.decode_struct(body.read_object(context), "authentication.v1.TokenRequest")


def _kind(account: Kind) -> Kind:
    """Return the kind TokenRequest."""
    return replace(account, resource=_REQUEST)


def _check_place(context: RequestContext, meta: Document) -> None:
    """Check that name and namespace of the body, if set, are those of the path.

    Raises Invalid, BadRequest.
    """
    check_namespace_of(context, meta)
    name = meta.get("name")
    if name and name != context.name:
        text = "must match the service account name if specified"
        error = invalid("metadata.name", name, text)
        raise Invalid.of("TokenRequest", _GROUP, context.name, [error])


def _complete(
    server: ServerContext,
    context: RequestContext,
    document: Document,
    meta: Document,
    account: Document,
) -> Document:
    """Return the request with defaults. Raises Conflict, Invalid."""
    uid = account["metadata"]["uid"]
    if meta.get("uid") and meta["uid"] != uid:
        text = (
            f"the UID in the token request ({meta['uid']}) does not match the UID of the service "
            f"account ({uid})"
        )
        raise _conflict(
            f"TokenRequest.{_GROUP}", context.name, text, group=_GROUP, kind="TokenRequest"
        )
    spec = dict(document.get("spec") or {})
    seconds = spec.get("expirationSeconds")
    spec["expirationSeconds"] = _HOUR if seconds is None else seconds
    spec["audiences"] = spec.get("audiences") or list(API_AUDIENCES)
    errors = _errors(spec["expirationSeconds"])
    if errors:
        raise Invalid.of("TokenRequest", _GROUP, "", errors)
    meta |= {"name": context.name, "namespace": context.namespace, "uid": uid}
    meta["creationTimestamp"] = format_time(server.clock())
    return {
        "kind": "TokenRequest",
        "apiVersion": f"{_GROUP}/v1",
        "metadata": meta,
        "spec": spec,
    }


def _errors(seconds: int) -> list[FieldError]:
    where = "spec.expirationSeconds"
    if seconds < _LEAST:
        return [invalid(where, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > _MOST:
        text = "may not specify a duration larger than 2^32 seconds"
        return [invalid(where, seconds, text)]
    return []


def _bound_object(
    server: ServerContext, context: RequestContext, reference: Document | None
) -> list[BoundObject]:
    """Return the object that the token is bound to, and for a Pod also its Node.

    Raises BadRequest, NotFound, Conflict.
    """
    if reference is None:
        return []
    group, version = split_api_version(reference.get("apiVersion", ""))
    kind, name, uid = (reference.get(field, "") for field in ("kind", "name", "uid"))
    if group or kind not in _OBJECTS:
        result = f"{group}/{version}, Kind={kind}"
        raise BadRequest(f"cannot bind token to object of type {result}")
    if not name:
        raise BadRequest("Name parameter required.")
    value = _object(server, kind, "" if kind == "Node" else context.namespace, name)
    if value is None:
        raise not_found(_kind_of(server, kind), name)
    bound = [BoundObject(kind, name, value["metadata"]["uid"])]
    if kind == "Pod":
        bound += _node(server, context, value)
    if uid and uid != bound[0].uid:
        text = (
            f"the UID in the bound object reference ({uid}) does not match the UID in record. The "
            "object might have been deleted and then recreated"
        )
        raise _conflict(kind, name, text, kind=kind)
    return bound


def _node(server: ServerContext, context: RequestContext, pod: Document) -> list[BoundObject]:
    spec = pod.get("spec") or {}
    if spec.get("serviceAccountName", "") != context.name:
        raise BadRequest(
            f"cannot bind token for serviceaccount {go_quoted(context.name)} to pod running with "
            "different serviceaccount name."
        )
    name = spec.get("nodeName")
    if not name:
        return []
    node = _object(server, "Node", "", name)
    return [BoundObject("Node", name, node["metadata"]["uid"] if node else "")]


def _object(server: ServerContext, kind: str, namespace: str, name: str) -> Document | None:
    return server.table(_kind_of(server, kind)).get(namespace, name)


def _kind_of(server: ServerContext, kind: str) -> Kind:
    result = server.registry.find("", "v1", _OBJECTS[kind])
    assert result is not None
    return result


def _conflict(what: str, name: str, why: str, **details: str) -> Conflict:
    message = f"Operation cannot be fulfilled on {what} {go_quoted(name)}: {why}"
    return Conflict(message, details={"name": name, **details})
