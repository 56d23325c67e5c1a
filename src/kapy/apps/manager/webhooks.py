"""Admission and conversion of our kinds over HTTPS, at upstream's paths.

An API server asks with an `AdmissionReview` (admission.k8s.io/v1) at `/mutate-GROUP-VERSION-KIND`
and `/validate-…` (dots are dashes, the kind in small letters), and with a `ConversionReview`
(apiextensions.k8s.io/v1) at `/convert`. The rules are those that the embedded server asks in
process (`kapy.apps.admission`, `kapy.apps.conversion`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kapy.api.features import FeatureGates
from kapy.api.kinds import KINDS
from kapy.apiserver.admission.plugin import Review, denial_reason
from kapy.apiserver.errors import ConversionFailed
from kapy.apps.admission import AdmissionRules
from kapy.apps.conversion import convert_documents
from kapy.client.client import Client
from kapy.engine.runtime import Runtime
from kapy.hooks.transport import HookTransport
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, BadRequest
from kapy.kube.http import User
from kapy.kube.names import CRDS, Resource
from kapy.sdk.reviews import Handler, Reviews, patch_response

_OWN_KINDS: Final = tuple(kind.type_of().RESOURCE for kind in KINDS)

Definition = Callable[[str], Document | None]
"""A CRD by its name."""


def path_of(operation: str, resource: Resource) -> str:
    """Return the path of a kind's webhook. operation: `mutate`, `validate`, `validate-scale`."""
    group = resource.group.replace(".", "-")
    return f"/{operation}-{group}-{resource.version}-{resource.kind.lower()}"


class Webhooks(Reviews):
    """The ASGI application of a manager's webhooks. rules: the admission rules of kapy's kinds.
    definition: looks up CRDs for the versions of references.
    """

    def __init__(self, rules: AdmissionRules, definition: Definition) -> None:
        self._rules = rules
        self._definition = definition
        answers: dict[str, Handler] = {"/convert": self._convert}
        for resource in _OWN_KINDS:
            answers[path_of("mutate", resource)] = self._default
            answers[path_of("validate", resource)] = self._validate
            answers[path_of("validate-scale", resource)] = self._validate
        super().__init__(answers)

    async def _default(self, request: Document) -> Document:
        review = _review(request)
        if review.new is None:
            return {"allowed": True}
        try:
            result = await self._rules.default(review)
        except ApiError as error:
            return _denial(error, review)
        return {**patch_response(review.new, result), **_warnings(review.warnings)}

    async def _validate(self, request: Document) -> Document:
        review = _review(request)
        try:
            warnings = await self._rules.validate(review)
        except ApiError as error:
            return _denial(error, review)
        return {"allowed": True, **_warnings([*review.warnings, *warnings])}

    async def _convert(self, request: Document) -> Document:
        objects, wanted = request.get("objects") or [], str(request.get("desiredAPIVersion", ""))
        try:
            documents = convert_documents(objects, wanted, self._definition) if objects else []
        except ConversionFailed as error:
            return {"convertedObjects": [], "result": BadRequest(str(error)).status()}
        if documents is None:
            reason = f"objects of kind {objects[0].get('kind')} are not converted here"
            return {"convertedObjects": [], "result": BadRequest(reason).status()}
        return {"convertedObjects": documents, "result": {"status": "Success"}}


def webhooks_of_manager(
    gates: FeatureGates, post: Callable[[], HookTransport], runtime: Runtime, client: Client
) -> Webhooks:
    """Creates the application of a manager, for its `Process`. post: connects to extensions."""
    rules = AdmissionRules(gates, post)
    rules.enable_reads(client)
    definitions = runtime.cache.informer(CRDS)
    return Webhooks(rules, lambda name: definitions.raw(Key("", name)))


def _review(request: Document) -> Review:
    named, kind = request.get("resource") or {}, request.get("kind") or {}
    part = request.get("subResource") or ""
    group, version = named.get("group", ""), named.get("version", "")
    review = request.get("userInfo") or {}
    user = User(
        review.get("username", ""), tuple(review.get("groups") or ()), review.get("uid", "")
    )
    return Review(
        operation=request.get("operation", "CREATE"),
        resource=_resource_of(group, named.get("resource", ""))
        or Resource(group, version, named.get("resource", ""), kind.get("kind", "")),
        subresource=part,
        namespace=request.get("namespace") or "",
        name=request.get("name") or "",
        new=request.get("object"),
        old=request.get("oldObject"),
        user=user,
        dry_run=bool(request.get("dryRun")),
        options=lambda: request.get("options") or {},
    )


def _resource_of(group: str, plural: str) -> Resource | None:
    """Return the kind that a request is about; a request about a scale names the kind Scale."""
    return next((kind for kind in _OWN_KINDS if (kind.group, kind.plural) == (group, plural)), None)


def _warnings(warnings: list[str]) -> Document:
    return {"warnings": warnings} if warnings else {}


def _denial(error: ApiError, review: Review) -> Document:
    """Return the response of a denied request; the API server adds its own prefix to the
    message.
    """
    status = {**error.status(), "message": denial_reason(error.message), "code": error.code}
    return {"allowed": False, "status": status, **_warnings(review.warnings)}
