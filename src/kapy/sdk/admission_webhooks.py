"""A provider's rules as webhooks: an ASGI application that any ASGI server runs.

    application = Webhooks(RULES)     # serve it over TLS

It answers `AdmissionReview` (admission.k8s.io/v1) at `/default` and `/validate`,
`ConversionReview` (apiextensions.k8s.io/v1) at `/convert`, and GET `/healthz` and `/readyz`.
`kapy.sdk.admission_configurations` makes what tells an API server of them.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any, Final

import msgspec

from kapy._aio.asgi import Receive, Scope, Send, body_of, live, reply
from kapy.kube import Document
from kapy.kube.errors import BadRequest, Invalid, KapyError, ServerError
from kapy.kube.patch.merge_patch import same
from kapy.sdk.admission import Rulebook
from kapy.sdk.admission_configurations import CONVERSION_PATH, DEFAULT_PATH, VALIDATION_PATH

MOST: Final = 64 * 1024 * 1024
"""Bytes that a review may have: a server has a whole list converted at a time."""

_JSON: Final = b"application/json"
_TEXT: Final = b"text/plain; charset=utf-8"


class Webhooks:
    """The application. ready: whether `/readyz` says so; its server may take that back."""

    def __init__(self, rules: Rulebook) -> None:
        self.ready = True
        self._rules = rules
        self._answers: dict[str, Callable[[Document], Document]] = {
            DEFAULT_PATH: self._defaulted,
            VALIDATION_PATH: self._judged,
            CONVERSION_PATH: self._converted,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await live(receive, send)
        elif scope["type"] == "http":
            path = scope["path"].removeprefix(scope.get("root_path", ""))
            if scope["method"] == "GET":
                await reply(send, *self._looked_up(path))
            else:
                await reply(send, *await self._answered(scope["method"], path, receive))

    def _looked_up(self, path: str) -> tuple[int, bytes, bytes]:
        if path == "/healthz" or (path == "/readyz" and self.ready):
            return 200, _TEXT, b"ok"
        if path == "/readyz":
            return 503, _TEXT, b"stopping"
        return 404, _TEXT, b"webhooks are asked with POST"

    async def _answered(self, method: str, path: str, receive: Receive) -> tuple[int, bytes, bytes]:
        answer = self._answers.get(path)
        if answer is None:
            known = ", ".join(self._answers)
            return 404, _TEXT, f"no webhook is at {path}; there are {known}".encode()
        if method != "POST":
            return 405, _TEXT, f"webhooks are asked with POST, not with {method}".encode()
        body = await body_of(receive, MOST)
        if len(body) > MOST:
            return 413, _TEXT, f"a review has {MOST} bytes at most".encode()
        try:
            review = msgspec.json.decode(body, type=_Review)
        except msgspec.MsgspecError as error:
            return 400, _TEXT, f"this is no review: {error}".encode()
        response = {"uid": review.request.get("uid", ""), **answer(review.request)}
        told = {"apiVersion": review.apiVersion, "kind": review.kind, "response": response}
        return 200, _JSON, msgspec.json.encode(told)

    def _defaulted(self, request: Document) -> Document:
        document = request.get("object")
        if not isinstance(document, dict):
            return {"allowed": True}
        try:
            found = self._rules.default(document)
        except KapyError as error:
            return _refused(ServerError(str(error)).status())
        operations = [
            {"op": "add", "path": f"/{name}", "value": value}
            for name, value in found.items()
            if not same(value, document.get(name))
        ]
        if not operations:
            return {"allowed": True}
        patch = b64encode(msgspec.json.encode(operations)).decode()
        return {"allowed": True, "patchType": "JSONPatch", "patch": patch}

    def _judged(self, request: Document) -> Document:
        document, old = request.get("object"), request.get("oldObject")
        if not isinstance(document, dict):
            return {"allowed": True}
        try:
            errors = self._rules.problems(document, old, dry_run=bool(request.get("dryRun")))
        except KapyError as error:
            return _refused(ServerError(str(error)).status())
        if not errors:
            return {"allowed": True}
        kind = request.get("kind") or {}
        named = kind.get("kind", ""), kind.get("group", "")
        return _refused(Invalid.of(*named, request.get("name") or "", errors).status())

    def _converted(self, request: Document) -> Document:
        wanted = request.get("desiredAPIVersion", "")
        try:
            found = [self._rules.convert(one, wanted) for one in request.get("objects") or ()]
        except KapyError as error:
            return {"convertedObjects": [], "result": BadRequest(str(error)).status()}
        return {"convertedObjects": found, "result": {"status": "Success"}}


class _Review(msgspec.Struct):
    apiVersion: str  # noqa: N815 - as it travels
    kind: str
    request: dict[str, Any]


def _refused(status: Document) -> Document:
    return {"allowed": False, "status": status}
