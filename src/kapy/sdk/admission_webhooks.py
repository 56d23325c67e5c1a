"""Serve a provider's rules as webhooks: an ASGI application for any ASGI server.

    application = Webhooks(RULES)     # serve it over TLS

It answers `AdmissionReview` (admission.k8s.io/v1) at `/default` and `/validate`, `ConversionReview`
(apiextensions.k8s.io/v1) at `/convert`, and GET `/healthz` and `/readyz`.
`kapy.sdk.admission_configurations` builds the API server's configuration.
"""

from __future__ import annotations

from kapy.kube import Document
from kapy.kube.errors import BadRequest, Invalid, KapyError, ServerError
from kapy.sdk.admission import Rulebook
from kapy.sdk.admission_configurations import CONVERSION_PATH, DEFAULT_PATH, VALIDATION_PATH
from kapy.sdk.reviews import Reviews, patch_response


class Webhooks(Reviews):
    """The ASGI application that serves the rules as webhooks."""

    def __init__(self, rules: Rulebook) -> None:
        self._rules = rules
        super().__init__(
            {
                DEFAULT_PATH: self._default,
                VALIDATION_PATH: self._validate,
                CONVERSION_PATH: self._convert,
            }
        )

    async def _default(self, request: Document) -> Document:
        document = request.get("object")
        if not isinstance(document, dict):
            return {"allowed": True}
        try:
            result = self._rules.default(document)
        except KapyError as error:
            return _denial(ServerError(str(error)).status())
        return patch_response(document, result)

    async def _validate(self, request: Document) -> Document:
        document, old = request.get("object"), request.get("oldObject")
        if not isinstance(document, dict):
            return {"allowed": True}
        try:
            errors = self._rules.problems(document, old, dry_run=bool(request.get("dryRun")))
        except KapyError as error:
            return _denial(ServerError(str(error)).status())
        if not errors:
            return {"allowed": True}
        kind = request.get("kind") or {}
        named = kind.get("kind", ""), kind.get("group", "")
        return _denial(Invalid.of(*named, request.get("name") or "", errors).status())

    async def _convert(self, request: Document) -> Document:
        wanted = request.get("desiredAPIVersion", "")
        try:
            converts = [self._rules.convert(obj, wanted) for obj in request.get("objects") or ()]
        except KapyError as error:
            return {"convertedObjects": [], "result": BadRequest(str(error)).status()}
        return {"convertedObjects": converts, "result": {"status": "Success"}}


def _denial(status: Document) -> Document:
    return {"allowed": False, "status": status}
