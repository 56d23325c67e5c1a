"""AdmissionReview: what a webhook is sent, and what its answer may be."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from kapy.apiserver.admission import Review, denied
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.webhooks.configuration import Role
from kapy.kube import Document
from kapy.kube.errors import ApiError, KapyError, error_of
from kapy.kube.foreign_json import decoded

VERSION, KIND = "admission.k8s.io/v1", "AdmissionReview"


OTHER_KINDS: Final[dict[str, Document]] = {
    "eviction": {"group": "policy", "version": "v1", "kind": "Eviction"},
    "token": {"group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest"},
}
"""The kinds of subresources whose objects are not stored and have one version only."""


class InvalidAnswer(KapyError):
    """The answer breaks the rules of the API; the message is kube-apiserver's."""


def request_of(
    review: Review, kind: Kind, asked: Kind, new: Document | None, old: Document | None, uid: str
) -> Document:
    """The `request` of a review. kind: the version that the webhook wants; asked: that of the
    request itself. new, old: the object in `kind`."""
    part = review.subresource
    request: Document = {
        "uid": uid,
        "kind": _kind(kind, part),
        "resource": _resource(kind),
        **({"subResource": part} if part else {}),
        "requestKind": _kind(asked, part),
        "requestResource": _resource(asked),
        **({"requestSubResource": part} if part else {}),
        **({"name": review.name} if review.name else {}),
        **({"namespace": space} if (space := namespace_of(review)) else {}),
        "operation": review.operation,
        "userInfo": _user(review),
        "object": new,
        "oldObject": old,
        "dryRun": review.dry_run,
        "options": review.options or None,
    }
    return request


def namespace_of(review: Review) -> str:
    """The namespace of a request; a namespace is in itself."""
    resource = review.resource
    if resource.plural == "namespaces" and not resource.group:
        return review.name
    return review.namespace


def _kind(kind: Kind, part: str) -> Document:
    if part == "scale":
        return {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    if part in OTHER_KINDS:
        return OTHER_KINDS[part]
    one = kind.resource
    return {"group": one.group, "version": one.version, "kind": one.kind}


def _resource(kind: Kind) -> Document:
    one = kind.resource
    return {"group": one.group, "version": one.version, "resource": one.plural}


def _user(review: Review) -> Document:
    user = review.user
    found: Document = {"username": user.name}
    if user.uid:
        found["uid"] = user.uid
    if user.groups:
        found["groups"] = list(user.groups)
    if user.extra:
        found["extra"] = {key: list(values) for key, values in user.extra.items()}
    return found


@dataclass(frozen=True, slots=True)
class Answer:
    """What a webhook said. patch: operations of a JSON patch, None for no patch."""

    allowed: bool
    status: Document | None
    warnings: tuple[str, ...]
    patch: Any


def answer_of(document: Document, uid: str, role: Role) -> Answer:
    """The answer, checked. Raises InvalidAnswer."""
    response = document.get("response")
    if not isinstance(response, dict):
        raise InvalidAnswer("webhook response was absent")
    found = response.get("uid") or ""
    if found != uid:
        raise InvalidAnswer(f'expected response.uid="{uid}", got "{found}"')
    patch, patch_type = response.get("patch") or "", response.get("patchType")
    if role == "validating":
        if patch:
            raise InvalidAnswer("validating webhook may not return response.patch")
        if patch_type is not None:
            raise InvalidAnswer("validating webhook may not return response.patchType")
    elif patch and patch_type is None:
        raise InvalidAnswer("webhook returned response.patch but not response.patchType")
    elif patch_type is not None and not patch:
        raise InvalidAnswer("webhook returned response.patchType but not response.patch")
    elif patch_type == "":
        raise InvalidAnswer('webhook returned invalid response.patchType of ""')
    elif patch_type is not None and patch_type != "JSONPatch":
        raise InvalidAnswer(f'unsupported patch type "{patch_type}"')
    status = response.get("status")
    return Answer(
        response.get("allowed") is True,
        status if isinstance(status, dict) else None,
        _warnings(response.get("warnings") or []),
        _operations(patch) if patch else None,
    )


def _warnings(told: Any) -> tuple[str, ...]:
    if not isinstance(told, list) or not all(isinstance(one, str) for one in told):
        raise InvalidAnswer("webhook response.warnings is no list of strings")
    return tuple(one for one in told if _sendable(one))


def _sendable(warning: str) -> bool:
    """Whether a sentence may stand in a header; one that may not is left out."""
    return bool(warning) and warning.isprintable()


def _operations(patch: object) -> Any:
    try:
        return decoded(base64.b64decode(str(patch), validate=True))
    except ValueError as error:
        raise InvalidAnswer(f"response.patch is no base64 of a JSON patch: {error}") from None


def denial(name: str, status: Document | None) -> ApiError:
    """The refusal that a webhook's answer is."""
    told = dict(status or {})
    code = told.get("code") or 0
    code = code if isinstance(code, int) and 400 <= code < 1000 else 400
    why = told.get("message") or told.get("reason") or ""
    answer: Document = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": metadata if isinstance(metadata := told.get("metadata"), dict) else {},
        "status": "Failure",
        "message": denied(name, str(why)),
    }
    for field, kind in (("reason", str), ("details", dict)):
        if told.get(field) and isinstance(told[field], kind):
            answer[field] = told[field]
    answer["code"] = code
    details = answer.get("details")
    after = details.get("retryAfterSeconds") if details else None
    if not isinstance(after, int) or not 0 <= after < 1 << 31:
        after = None
    return _class_of(code)(answer["message"], details=details, status=answer, retry_after=after)


@lru_cache(maxsize=64)
def _class_of(code: int) -> type[ApiError]:
    """The exception for an HTTP status that a webhook chose, whichever it is."""
    base = type(error_of(code, {}))
    return base if base.code == code else type(base.__name__, (base,), {"code": code})
