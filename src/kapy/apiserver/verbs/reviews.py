"""Access reviews and self reviews: virtual resources that are answered and not stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from kapy.apiserver.ask import Ask
from kapy.apiserver.audiences import API_AUDIENCES
from kapy.apiserver.authentication import Identity, NotAccepted
from kapy.apiserver.authorization import Attributes
from kapy.apiserver.metadata import stamp, wiped
from kapy.apiserver.plane import Plane
from kapy.apiserver.rbac.grants import Grants
from kapy.apiserver.verbs.access_reviews import evaluation_error, question, question_errors
from kapy.apiserver.verbs.checks import judged, read_typed, tracked
from kapy.apiserver.verbs.creation import settle_namespace
from kapy.apiserver.verbs.options import write_options
from kapy.kube import Document
from kapy.kube.errors import BadRequest, Forbidden, Invalid
from kapy.kube.field_errors import FieldError
from kapy.kube.http import Reply, User

Authorize = Callable[[Attributes], str]


@dataclass(slots=True)
class Answering:
    """The authorizer that answers reviews.

    grants: the RBAC rules; None if another authorizer decides.
    """

    authorize: Authorize
    grants: Grants | None
    identity_of: Callable[[str, Sequence[str]], Identity]


Answer = Callable[[Ask, Document, Answering], Document]


async def review(plane: Plane, ask: Ask, answering: Answering) -> Reply:
    """Return the review with its `status` filled in."""
    dry_run, checks = write_options(ask, "CreateOptions")
    document = await ask.compute(partial(read_typed, ask, checks))
    name = ask.kind.resource.kind
    wiped(document)
    settle_namespace(ask, document)
    document = await ask.compute(partial(tracked, plane, ask, None, document))
    document = await judged(plane, ask, document, dry_run=dry_run)
    answer = _ANSWERS[name]
    meta = document["metadata"]
    if name == "SelfSubjectReview":
        meta = {**meta, "creationTimestamp": stamp(plane.clock())}
    status = answer(ask, document, answering)
    if name == "SelfSubjectRulesReview":  # SelfSubjectRulesReview is answered with a new object
        document, meta = {**document, "spec": {}}, {}
    return Reply(201, {**document, "metadata": meta, "status": status})


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
    try:
        found = answering.identity_of(token, spec.get("audiences") or API_AUDIENCES)
    except NotAccepted as error:
        return {"user": {}, "error": str(error)}
    audiences = list(found.audiences)
    return {"authenticated": True, "user": _info(found.user), "audiences": audiences}


def _access(ask: Ask, document: Document, answering: Answering) -> Document:
    """Decide whether the reviewed user has access; by default the user of the request.

    Raises Invalid.
    """
    kind, spec = ask.kind.resource.kind, document.get("spec") or {}
    errors = question_errors(document, kind)
    if errors:
        raise _invalid(ask, errors)
    if kind == "LocalSubjectAccessReview" and document["metadata"]["namespace"] != ask.namespace:
        raise BadRequest(f"spec.resourceAttributes.namespace must match namespace: {ask.namespace}")
    user = ask.user
    if kind != "SelfSubjectAccessReview":
        extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
        groups = tuple(spec.get("groups") or ())
        user = User(spec.get("user", ""), groups, spec.get("uid", ""), extra)
    return _decided(question(user, spec), spec, answering)


def _invalid(ask: Ask, errors: list[FieldError]) -> Invalid:
    """Return the error of an invalid review; its details name no kind."""
    found = Invalid.of("", ask.kind.resource.group, "", errors)
    details: dict[str, Any] = dict(found.details or {})
    details.pop("kind")
    return Invalid(found.message, details=details)


def _decided(asked: Attributes, spec: Document, answering: Answering) -> Document:
    status: Document = {"allowed": True}
    try:
        why = answering.authorize(asked)
    except Forbidden as error:
        _, found, why = error.message.rpartition(": RBAC: ")
        why = f"RBAC: {why}" if found else ""
        status["allowed"] = False
    if why:
        status["reason"] = why
    if ignored := evaluation_error(spec):
        status["evaluationError"] = ignored
    return status


_RESOURCE_FIELDS = ("verbs", "apiGroups", "resources", "resourceNames")
_PATH_FIELDS = ("verbs", "nonResourceURLs")


def _rules(ask: Ask, document: Document, answering: Answering) -> Document:
    """Return all rules of the user in a namespace (SelfSubjectRulesReview)."""
    space = (document.get("spec") or {}).get("namespace", "")
    if not space:
        raise BadRequest("no namespace on request")
    if answering.grants is None:
        rules, problems = _rules_elsewhere(ask, answering), ""
    else:
        rules, problems = answering.grants.rules_for(ask.user, space)
    paths = [rule for rule in rules if rule.get("nonResourceURLs")]
    others = [rule for rule in rules if rule.get("resources")]
    status: Document = {
        "resourceRules": [_only(rule, _RESOURCE_FIELDS) for rule in others],
        "nonResourceRules": [_only(rule, _PATH_FIELDS) for rule in paths],
        "incomplete": answering.grants is None,
    }
    return {**status, "evaluationError": problems} if problems else status


def _rules_elsewhere(ask: Ask, answering: Answering) -> list[Document]:
    """Return the user's rules if another authorizer than RBAC decides: those of superusers only."""
    try:
        answering.authorize(Attributes(ask.user, "*", "*", "*", "*"))
    except Forbidden:
        return []
    return [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ]


def _only(rule: Document, fields: tuple[str, ...]) -> Document:
    return {field: rule[field] for field in fields if rule.get(field)}


_ANSWERS: dict[str, Answer] = {
    "SelfSubjectReview": _who,
    "TokenReview": _token,
    "SelfSubjectAccessReview": _access,
    "SubjectAccessReview": _access,
    "LocalSubjectAccessReview": _access,
    "SelfSubjectRulesReview": _rules,
}
