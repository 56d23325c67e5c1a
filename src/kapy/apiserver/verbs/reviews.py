"""Reviews: questions about who one is and what one may do. Nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kapy.apiserver import body
from kapy.apiserver.ask import Ask
from kapy.apiserver.authorization import Attributes
from kapy.apiserver.metadata import stamp
from kapy.apiserver.plane import Plane
from kapy.apiserver.rbac.grants import Grants
from kapy.apiserver.tokens import ISSUER
from kapy.apiserver.verbs.checks import judged, tracked, typed
from kapy.apiserver.verbs.options import field_validation
from kapy.kube import Document
from kapy.kube.errors import BadRequest, Forbidden, Invalid
from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.http import Reply, User

Authorize = Callable[[Attributes], str]


@dataclass(slots=True)
class Answering:
    """What answers come from. grants: None when another authorizer decides."""

    authorize: Authorize
    grants: Grants | None
    user_of: Callable[[str, tuple[str, ...]], User | None]


Answer = Callable[[Ask, Document, Answering], Document]


async def review(plane: Plane, ask: Ask, answering: Answering) -> Reply:
    """The question with its answer in `status`."""
    checks = field_validation(ask, "CreateOptions")
    document = typed(ask, body.read_object(ask, checks.duplicates), checks)
    name = ask.kind.resource.kind
    if name == "LocalSubjectAccessReview":
        document["metadata"]["namespace"] = ask.namespace
    document = tracked(plane, ask, None, document)
    document = await judged(plane, ask, document, dry_run=ask.dry_run("CreateOptions"))
    answer = _ANSWERS[name]
    meta = document["metadata"]
    if name == "SelfSubjectReview":
        meta = {**meta, "creationTimestamp": stamp(plane.clock())}
    return Reply(201, {**document, "metadata": meta, "status": answer(ask, document, answering)})


def _info(user: User) -> Document:
    info: Document = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return info


def _who(ask: Ask, document: Document, answering: Answering) -> Document:
    del document, answering
    return {"userInfo": _info(ask.user)}


def _token(ask: Ask, document: Document, answering: Answering) -> Document:
    del ask
    spec = document.get("spec") or {}
    token = spec.get("token")
    if not token:
        raise BadRequest("token is required for TokenReview in authentication")
    audiences = tuple(spec.get("audiences") or (ISSUER,))
    user = answering.user_of(token, audiences)
    if user is None:
        return {"user": {}, "error": "the token is not accepted"}
    return {"authenticated": True, "user": _info(user), "audiences": list(audiences)}


def _myself(ask: Ask, document: Document, answering: Answering) -> Document:
    spec = document.get("spec") or {}
    _check(ask, spec)
    return _decided(ask.user, spec, answering)


def _somebody(ask: Ask, document: Document, answering: Answering) -> Document:
    spec = document.get("spec") or {}
    _check(ask, spec, somebody=True)
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    groups = tuple(spec.get("groups") or ())
    user = User(spec.get("user", ""), groups, spec.get("uid", ""), extra)
    return _decided(user, spec, answering)


def _local(ask: Ask, document: Document, answering: Answering) -> Document:
    spec = document.get("spec") or {}
    space = (spec.get("resourceAttributes") or {}).get("namespace", "")
    if space != ask.namespace:
        raise BadRequest(f"spec.resourceAttributes.namespace must match namespace: {ask.namespace}")
    return _somebody(ask, document, answering)


def _check(ask: Ask, spec: Document, *, somebody: bool = False) -> None:
    """The question must be one. Raises Invalid, which names no kind there."""
    errors: list[FieldError] = []
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        said = {"Path": path.get("path", ""), "Verb": path.get("verb", "")}
        text = "cannot be specified in combination with resourceAttributes"
        errors.append(invalid("spec.nonResourceAttributes", said, text))
    elif resource is None and path is None:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.append(invalid("spec.resourceAttributes", None, text))
    if somebody and not spec.get("user") and not spec.get("groups"):
        text = "at least one of user or group must be specified"
        errors.append(invalid("spec.user", spec.get("user", ""), text))
    if errors:
        found = Invalid.of("", ask.kind.resource.group, "", errors)
        details: dict[str, Any] = dict(found.details or {})
        details.pop("kind")
        raise Invalid(found.message, details=details)


def _decided(user: User, spec: Document, answering: Answering) -> Document:
    try:
        why = answering.authorize(_attributes(user, spec))
    except Forbidden as error:
        _, _, why = error.message.partition(": RBAC: ")
        return {"allowed": False, "reason": f"RBAC: {why}"} if why else {"allowed": False}
    return {"allowed": True, "reason": why} if why else {"allowed": True}


def _attributes(user: User, spec: Document) -> Attributes:
    other = spec.get("nonResourceAttributes")
    if other:
        return Attributes(user, other.get("verb", ""), path=other.get("path", ""))
    asked = spec.get("resourceAttributes") or {}
    return Attributes(
        user,
        asked.get("verb", ""),
        asked.get("group", ""),
        asked.get("version", ""),
        asked.get("resource", ""),
        asked.get("subresource", ""),
        asked.get("namespace", ""),
        asked.get("name", ""),
    )


_RESOURCE_FIELDS = ("verbs", "apiGroups", "resources", "resourceNames")
_PATH_FIELDS = ("verbs", "nonResourceURLs")


def _rules(ask: Ask, document: Document, answering: Answering) -> Document:
    """All that one may do in a namespace; superusers everything."""
    space = (document.get("spec") or {}).get("namespace", "")
    if not space:
        raise BadRequest("no namespace on request")
    try:
        answering.authorize(Attributes(ask.user, "*", "*", "*", "*"))
        rules: list[Document] = [
            {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
            {"verbs": ["*"], "nonResourceURLs": ["*"]},
        ]
    except Forbidden:
        rules = [] if answering.grants is None else answering.grants.rules_for(ask.user, space)
    paths = [rule for rule in rules if rule.get("nonResourceURLs")]
    others = [rule for rule in rules if not rule.get("nonResourceURLs")]
    return {
        "resourceRules": [_only(rule, _RESOURCE_FIELDS) for rule in others],
        "nonResourceRules": [_only(rule, _PATH_FIELDS) for rule in paths],
        "incomplete": answering.grants is None,
    }


def _only(rule: Document, fields: tuple[str, ...]) -> Document:
    return {field: rule[field] for field in fields if rule.get(field)}


_ANSWERS: dict[str, Answer] = {
    "SelfSubjectReview": _who,
    "TokenReview": _token,
    "SelfSubjectAccessReview": _myself,
    "SubjectAccessReview": _somebody,
    "LocalSubjectAccessReview": _local,
    "SelfSubjectRulesReview": _rules,
}
