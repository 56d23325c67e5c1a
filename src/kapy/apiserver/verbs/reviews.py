"""Access reviews and self reviews: virtual resources that are answered and not stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from kapy.apiserver.auth.authentication import API_AUDIENCES, Identity, InvalidToken
from kapy.apiserver.auth.authorization import Attributes
from kapy.apiserver.auth.rbac.grants import RBACAuthorizer
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.resources.metadata import format_time, strip_system_fields
from kapy.apiserver.verbs.checks import read_object, run_admission, track_ownership
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.create import set_namespace
from kapy.apiserver.verbs.options import parse_write_options
from kapy.apiserver.verbs.review_validation import (
    evaluation_error,
    review_attributes,
    review_errors,
)
from kapy.kube import Document
from kapy.kube.errors import BadRequest, Forbidden, Invalid
from kapy.kube.field_errors import FieldError
from kapy.kube.http import Reply, User

Authorize = Callable[[Attributes], str]


@dataclass(slots=True)
class ReviewAuthorizer:
    """The authorizer that decides the access in reviews.

    grants: the RBAC rules; None if another authorizer decides.
    """

    authorize: Authorize
    grants: RBACAuthorizer | None
    identity_of: Callable[[str, Sequence[str]], Identity]


Answer = Callable[[RequestContext, Document, ReviewAuthorizer], Document]


async def answer_review(
    server: ServerContext, context: RequestContext, answering: ReviewAuthorizer
) -> Reply:
    """Handle an access review or self review: return the response, a review with its `status`."""
    dry_run, checks = parse_write_options(context, "CreateOptions")
    document = await context.compute(partial(read_object, context, checks))
    name = context.kind.resource.kind
    strip_system_fields(document)
    set_namespace(context, document)
    document = await context.compute(partial(track_ownership, server, context, None, document))
    document = await run_admission(server, context, document, dry_run=dry_run)
    answer = _ANSWERS[name]
    meta = document["metadata"]
    if name == "SelfSubjectReview":
        meta = {**meta, "creationTimestamp": format_time(server.clock())}
    status = answer(context, document, answering)
    if name == "SelfSubjectRulesReview":  # SelfSubjectRulesReview is answered with a new object
        document, meta = {**document, "spec": {}}, {}
    return Reply(201, {**document, "metadata": meta, "status": status})


def _user_info(user: User) -> Document:
    info: Document = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return info


def _self_review(
    context: RequestContext, document: Document, answering: ReviewAuthorizer
) -> Document:
    del document, answering
    return {"userInfo": _user_info(context.user)}


def _token_review(
    context: RequestContext, document: Document, answering: ReviewAuthorizer
) -> Document:
    del context
    spec = document.get("spec") or {}
    token = spec.get("token")
    if not token:
        raise BadRequest("token is required for TokenReview in authentication")
    try:
        identity = answering.identity_of(token, spec.get("audiences") or API_AUDIENCES)
    except InvalidToken as error:
        return {"user": {}, "error": str(error)}
    audiences = list(identity.audiences)
    return {"authenticated": True, "user": _user_info(identity.user), "audiences": audiences}


def _access_review(
    context: RequestContext, document: Document, answering: ReviewAuthorizer
) -> Document:
    """Decide whether the reviewed user has access; by default the user of the request.

    Raises Invalid.
    """
    kind, spec = context.kind.resource.kind, document.get("spec") or {}
    errors = review_errors(document, kind)
    if errors:
        raise _invalid(context, errors)
    if (
        kind == "LocalSubjectAccessReview"
        and document["metadata"]["namespace"] != context.namespace
    ):
        raise BadRequest(
            f"spec.resourceAttributes.namespace must match namespace: {context.namespace}"
        )
    user = context.user
    if kind != "SelfSubjectAccessReview":
        extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
        groups = tuple(spec.get("groups") or ())
        user = User(spec.get("user", ""), groups, spec.get("uid", ""), extra)
    return _decide(review_attributes(user, spec), spec, answering)


def _invalid(context: RequestContext, errors: list[FieldError]) -> Invalid:
    """Return the error of an invalid review; its details name no kind."""
    invalid = Invalid.of("", context.kind.resource.group, "", errors)
    details: dict[str, Any] = dict(invalid.details or {})
    details.pop("kind")
    return Invalid(invalid.message, details=details)


def _decide(attributes: Attributes, spec: Document, answering: ReviewAuthorizer) -> Document:
    status: Document = {"allowed": True}
    try:
        why = answering.authorize(attributes)
    except Forbidden as error:
        _, result, why = error.message.rpartition(": RBAC: ")
        why = f"RBAC: {why}" if result else ""
        status["allowed"] = False
    if why:
        status["reason"] = why
    if ignored := evaluation_error(spec):
        status["evaluationError"] = ignored
    return status


_RESOURCE_FIELDS = ("verbs", "apiGroups", "resources", "resourceNames")
_PATH_FIELDS = ("verbs", "nonResourceURLs")


def _rules_review(
    context: RequestContext, document: Document, answering: ReviewAuthorizer
) -> Document:
    """Return all rules of the user in a namespace (SelfSubjectRulesReview)."""
    space = (document.get("spec") or {}).get("namespace", "")
    if not space:
        raise BadRequest("no namespace on request")
    if answering.grants is None:
        rules, problems = _superuser_rules(context, answering), ""
    else:
        rules, problems = answering.grants.rules_of_user(context.user, space)
    paths = [rule for rule in rules if rule.get("nonResourceURLs")]
    others = [rule for rule in rules if rule.get("resources")]
    status: Document = {
        "resourceRules": [_select_fields(rule, _RESOURCE_FIELDS) for rule in others],
        "nonResourceRules": [_select_fields(rule, _PATH_FIELDS) for rule in paths],
        "incomplete": answering.grants is None,
    }
    return {**status, "evaluationError": problems} if problems else status


def _superuser_rules(context: RequestContext, answering: ReviewAuthorizer) -> list[Document]:
    """Return the user's rules if another authorizer than RBAC decides: those of superusers only."""
    try:
        answering.authorize(Attributes(context.user, "*", "*", "*", "*"))
    except Forbidden:
        return []
    return [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ]


def _select_fields(rule: Document, fields: tuple[str, ...]) -> Document:
    return {field: rule[field] for field in fields if rule.get(field)}


_ANSWERS: dict[str, Answer] = {
    "SelfSubjectReview": _self_review,
    "TokenReview": _token_review,
    "SelfSubjectAccessReview": _access_review,
    "SubjectAccessReview": _access_review,
    "LocalSubjectAccessReview": _access_review,
    "SelfSubjectRulesReview": _rules_review,
}
