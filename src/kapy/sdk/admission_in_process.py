"""Serve a provider's rules in the process of the API server: no HTTP, no certificates.

    Server.open(None, clock=clock, admission=[InProcess(RULES)], convert=conversion(RULES))

Errors are the same as with webhooks (`kapy.sdk.admission_webhooks`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kapy.apiserver.admission.plugin import Review, denial_message
from kapy.apiserver.errors import ConversionFailed
from kapy.kube import Document
from kapy.kube.errors import Invalid, KapyError, ServerError
from kapy.kube.names import Resource
from kapy.sdk.admission import Rulebook, RuleFailed
from kapy.sdk.admission_configurations import DEFAULT, VALIDATION, webhook_name
from kapy.sdk.admission_versions import CannotConvert


class InProcess:
    """A plug-in of the embedded API server (`kapy.apiserver.admission.plugin.Admission`)."""

    def __init__(self, rules: Rulebook) -> None:
        self._rules = rules

    def handles(self, resource: Resource, subresource: str) -> bool:
        ruled = self._rules.kinds.get(resource.group_kind)
        return ruled is not None and not subresource and ruled.resource == resource

    async def default(self, review: Review) -> Document:
        assert review.new is not None
        try:
            return self._rules.default(review.new)
        except RuleFailed as error:
            raise ServerError(_denial(DEFAULT, review, error)) from None

    async def validate(self, review: Review) -> Sequence[str]:
        if review.new is None or review.operation == "DELETE":
            return ()
        try:
            errors = self._rules.problems(review.new, review.old, dry_run=review.dry_run)
        except RuleFailed as error:
            raise ServerError(_denial(VALIDATION, review, error)) from None
        if errors:
            kind, group = review.resource.kind, review.resource.group
            refusal = Invalid.of(kind, group, review.name, errors)
            raise Invalid(_denial(VALIDATION, review, refusal), details=refusal.details)
        return ()


def conversion(
    rules: Rulebook,
) -> Callable[[Sequence[Document], str, Callable[[str], Document | None]], list[Document] | None]:
    """Return the conversion function for the embedded API server (`Server.open`)."""

    def convert(
        documents: Sequence[Document], api_version: str, _: Callable[[str], Document | None]
    ) -> list[Document] | None:
        ruled = rules.of(documents[0])
        if ruled is None or not ruled.versions:
            return None
        try:
            return [rules.convert(document, api_version) for document in documents]
        except (CannotConvert, RuleFailed) as error:
            raise ConversionFailed(str(error)) from None

    return convert


def _denial(what: str, review: Review, error: KapyError) -> str:
    return denial_message(webhook_name(what, review.resource), str(error))
