"""AdmissionReview: the request to a webhook, the validation of its response, and its JSON patch."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from kapy.apiserver.admission.plugin import Review, denial_message
from kapy.apiserver.encoding.go_json import syntax_error
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.review_versions import V1, kind_error, uid_error
from kapy.apiserver.resources.structs import json_type_name
from kapy.apiserver.webhooks.configuration import Role
from kapy.kube import Document
from kapy.kube.digits import has_only_digits, parse_digits
from kapy.kube.errors import ApiError, KapyError, error_of
from kapy.kube.foreign_json import BadJson, TooDeep, decode_json
from kapy.kube.patch import json_patch

GROUP, KIND = "admission.k8s.io", "AdmissionReview"


OTHER_KINDS: Final[dict[str, Document]] = {
    "eviction": {"group": "policy", "version": "v1", "kind": "Eviction"},
    "token": {"group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest"},
}
"""The kinds of subresources whose objects are not stored and have one version only."""


class InvalidResponse(KapyError):
    """The response violates the API; the message is kube-apiserver's."""


class UndecodablePatch(KapyError):
    """The patch is not a JSON patch, or patchType is another type."""


def build_request(
    review: Review,
    kind: Kind,
    requested: Kind,
    new: Document | None,
    old: Document | None,
    uid: str,
) -> Document:
    """Return the `request` of an AdmissionReview.

    kind: the kind in the version that the webhook receives. requested: the kind in the version of
    the client's request. new, old: the objects in the version of `kind`.
    """
    part = review.subresource
    request: Document = {
        "uid": uid,
        "kind": _kind(kind, part),
        "resource": _resource(kind),
        **({"subResource": part} if part else {}),
        "requestKind": _kind(requested, part),
        "requestResource": _resource(requested),
        **({"requestSubResource": part} if part else {}),
        **({"name": review.name} if review.name else {}),
        **({"namespace": space} if (space := namespace_of(review)) else {}),
        "operation": review.operation,
        "userInfo": _user(review),
        "object": new,
        "oldObject": old,
        "dryRun": review.dry_run,
        "options": review.options() or None,
    }
    return request


def namespace_of(review: Review) -> str:
    """Return the namespace of a request; a Namespace object counts as inside itself."""
    resource = review.resource
    if resource.plural == "namespaces" and not resource.group:
        return review.name
    return review.namespace


def _kind(kind: Kind, part: str) -> Document:
    if part == "scale":
        return {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    if part in OTHER_KINDS:
        return OTHER_KINDS[part]
    resource = kind.resource
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _resource(kind: Kind) -> Document:
    resource = kind.resource
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


def _user(review: Review) -> Document:
    user = review.user
    result: Document = {"username": user.name}
    if user.uid:
        result["uid"] = user.uid
    if user.groups:
        result["groups"] = list(user.groups)
    if user.extra:
        result["extra"] = {key: list(values) for key, values in user.extra.items()}
    return result


@dataclass(frozen=True, slots=True)
class AdmissionResponse:
    """The response of a webhook. patch: the JSON patch, b"" for none. patch_type: its patchType."""

    allowed: bool
    status: Document | None
    warnings: tuple[str, ...]
    patch: bytes
    patch_type: str

    def operations(self) -> list[Any]:
        """Return the operations of the patch. Raises UndecodablePatch."""
        if not self.patch:
            return []
        try:
            result = decode_json(self.patch)
        except TooDeep as error:
            raise UndecodablePatch(f"{_UNDECODABLE}: {error}") from None
        except BadJson:
            why = syntax_error(self.patch, encoding="latin-1")
            raise UndecodablePatch(f"{_UNDECODABLE}: {why}") from None
        if result is not None and not isinstance(result, list):
            json_type = json_type_name(result)
            why = f"json: cannot unmarshal {json_type} into Go value of type jsonpatch.Patch"
            raise UndecodablePatch(f"{_UNDECODABLE}: {why}")
        if result and self.patch_type != "JSONPatch":
            raise UndecodablePatch(f'unsupported patch type "{self.patch_type}"')
        return result or []


_UNDECODABLE: Final = "received undecodable patch in webhook response"


def parse_response(document: Document, uid: str, role: Role, version: str) -> AdmissionResponse:
    """Validate the response to a review of this version and return it. Raises InvalidResponse."""
    response = document.get("response")
    if not isinstance(response, dict):
        raise InvalidResponse("webhook response was absent")
    patch, patch_type = _patch_bytes(response), response.get("patchType")
    if patch_type is not None and not isinstance(patch_type, str):
        raise InvalidResponse("webhook response.patchType is no string")
    if version != V1:  # in v1beta1 kube-apiserver never verified uid and patchType
        patch, patch_type = (patch, "JSONPatch") if role == "mutating" else (b"", None)
    elif why := (
        uid_error(document, uid)
        or kind_error(document, GROUP, KIND)
        or _patch_type_error(patch, patch_type, role)
    ):
        raise InvalidResponse(why)
    status = response.get("status")
    return AdmissionResponse(
        response.get("allowed") is True,
        status if isinstance(status, dict) else None,
        _warnings(response.get("warnings") or []),
        patch,
        str(patch_type or ""),
    )


def _patch_type_error(patch: bytes, patch_type: object, role: Role) -> str:
    """Return the error if patch and patchType do not fit together in `v1`, else ""."""
    if role == "validating":
        if patch:
            return "validating webhook may not return response.patch"
        if patch_type is not None:
            return "validating webhook may not return response.patchType"
    elif patch and patch_type is None:
        return "webhook returned response.patch but not response.patchType"
    elif patch_type is not None and not patch:
        return "webhook returned response.patchType but not response.patch"
    elif patch_type == "":
        return 'webhook returned invalid response.patchType of ""'
    return ""


def _warnings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InvalidResponse("webhook response.warnings is no list of strings")
    return tuple(item for item in value if _is_sendable(item))


def _is_sendable(warning: str) -> bool:
    """Report whether a warning can be sent in an HTTP header; others are dropped."""
    return bool(warning) and warning.isprintable()


def _patch_bytes(response: Document) -> bytes:
    try:
        return base64.b64decode(str(response.get("patch") or ""), validate=True)
    except ValueError as error:
        raise InvalidResponse(f"response.patch is no base64: {error}") from None


def denial_error(name: str, status: Document | None) -> ApiError:
    """Return the error for a request that a webhook denied."""
    result = dict(status or {})
    code = result.get("code") or 0
    code = code if isinstance(code, int) and 400 <= code < 1000 else 400
    why = result.get("message") or result.get("reason") or ""
    answer: Document = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": metadata if isinstance(metadata := result.get("metadata"), dict) else {},
        "status": "Failure",
        "message": denial_message(name, str(why)),
    }
    for field, kind in (("reason", str), ("details", dict)):
        if result.get(field) and isinstance(result[field], kind):
            answer[field] = result[field]
    answer["code"] = code
    details = answer.get("details")
    after = details.get("retryAfterSeconds") if details else None
    if not isinstance(after, int) or not 0 <= after < 1 << 31:
        after = None
    return _error_class(code)(answer["message"], details=details, status=answer, retry_after=after)


@lru_cache(maxsize=64)
def _error_class(code: int) -> type[ApiError]:
    """Return an exception class for any HTTP status that a webhook chose."""
    base = type(error_of(code, {}))
    return base if base.code == code else type(base.__name__, (base,), {"code": code})


_GONE: Final = "missing value"


class PatchFailed(Exception):
    """The patch cannot be applied; the message is that of kube-apiserver's patch library."""


def apply_patch(document: Document, operations: Any) -> Document:
    """Return the object after the patch; unchanged parts are shared. Raises PatchFailed."""
    if not isinstance(operations, list):
        raise PatchFailed("json: cannot unmarshal the patch into Go value of type jsonpatch.Patch")
    result: Any = document
    for operation in operations:
        if not isinstance(operation, dict):
            raise PatchFailed("json: cannot unmarshal an operation of the patch")
        try:
            result = json_patch.apply(result, [operation])
        except ApiError:
            raise PatchFailed(_describe_failure(result, operation)) from None
    if not isinstance(result, dict):
        raise PatchFailed("the patch does not give an object")
    return result


def _describe_failure(document: Any, operation: Document) -> str:
    name, path = operation.get("op"), operation.get("path")
    match name:
        case "add" | "remove" | "replace" if isinstance(path, str):
            return _describe_missing(document, name, path)
        case "test" if isinstance(path, str):
            if isinstance(_container(document, path)[0], dict | list):
                return f"testing value {path} failed: test failed"
            return f"test operation does not apply: is missing path: {path}: {_GONE}"
        case "move" | "copy" if isinstance(path, str):
            source = operation.get("from")
            return f"{name} operation does not apply: doc is missing from path: {source}: {_GONE}"
        case "add" | "remove" | "replace" | "test" | "move" | "copy":
            return f"{name} operation failed to decode path: {_GONE}"
    return f"Unexpected kind: {name or 'unknown'}"


def _container(document: Any, path: str) -> tuple[Any, str]:
    """Return the parent of the value at a path, and the last token of the path."""
    container, last = document, ""
    for at, token in enumerate(path.split("/")[1:]):
        container = _member(container, last) if at else container
        last = token.replace("~1", "/").replace("~0", "~")
    return container, last


def _describe_missing(document: Any, name: str, path: str) -> str:
    container, last = _container(document, path)
    if isinstance(container, dict):
        why = f"Unable to remove nonexistent key: {last}: {_GONE}"
    elif not isinstance(container, list):
        quoted = path if name == "replace" else f'"{path}"'
        return f"{name} operation does not apply: doc is missing path: {quoted}: {_GONE}"
    elif name == "replace":
        return f"replace operation does not apply: doc is missing key: {path}: {_GONE}"
    elif has_only_digits(last.lstrip("-")):
        why = f"Unable to access invalid index: {last}: invalid index referenced"
    else:
        why = f'strconv.Atoi: parsing "{last}": invalid syntax'
    return f"error in {name} for path: '{path}': {why}"


def _member(node: Any, token: str) -> Any:
    if isinstance(node, dict):
        return node.get(token)
    number = parse_digits(token) if isinstance(node, list) else None
    return node[number] if number is not None and number < len(node) else None
