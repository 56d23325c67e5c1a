"""Questions that are asked by creating an object which is never stored: who am I, may I."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kapy.apiserver import body
from kapy.apiserver.ask import Ask
from kapy.apiserver.authorization import Attributes, Authorizer
from kapy.apiserver.plane import Plane
from kapy.kube import Document
from kapy.kube.errors import Forbidden, ServerError
from kapy.kube.http import Reply, User

Answer = Callable[[Ask, Document, Authorizer], Document]


async def review(plane: Plane, ask: Ask, authorize: Authorizer) -> Reply:
    """The question with its answer in `status`."""
    del plane
    document = body.read_object(ask)
    answer = _ANSWERS.get(ask.kind.resource.kind)
    if answer is None:
        raise ServerError(f"{ask.kind.resource.kind} is not answered by this server")
    metadata = document.get("metadata") or {}
    return Reply(
        201, {**document, "metadata": metadata, "status": answer(ask, document, authorize)}
    )


def _who(ask: Ask, document: Document, authorize: Authorizer) -> Document:
    del document, authorize
    user = ask.user
    info: Document = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return {"userInfo": info}


def _myself(ask: Ask, document: Document, authorize: Authorizer) -> Document:
    return _decided(ask.user, document.get("spec") or {}, authorize)


def _somebody(ask: Ask, document: Document, authorize: Authorizer) -> Document:
    del ask
    spec = document.get("spec") or {}
    user = User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""))
    return _decided(user, spec, authorize)


def _decided(user: User, spec: Document, authorize: Authorizer) -> Document:
    try:
        authorize(_attributes(user, spec))
    except Forbidden:
        return {"allowed": False}
    return {"allowed": True}


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


def _rules(ask: Ask, document: Document, authorize: Authorizer) -> Document:
    del document
    try:
        authorize(Attributes(ask.user, "*", "*", "*", "*"))
    except Forbidden:
        return {"resourceRules": [], "nonResourceRules": [], "incomplete": False}
    return {
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": False,
    }


_ANSWERS: dict[str, Answer] = {
    "SelfSubjectReview": _who,
    "SelfSubjectAccessReview": _myself,
    "SubjectAccessReview": _somebody,
    "LocalSubjectAccessReview": _somebody,
    "SelfSubjectRulesReview": _rules,
}

Reviewer = Callable[[Plane, Ask, Authorizer], Awaitable[Reply]]
