"""Upstream's webhooks as built-in admission: `kapy.api` defaults and validates, in process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kapy.api.crds import KINDS
from kapy.api.defaults import CannotDefault, default
from kapy.api.validation import validate
from kapy.apiserver.admission import Review
from kapy.kube import Document
from kapy.kube.errors import BadRequest, Invalid
from kapy.kube.names import Resource

_RESOURCES: Final = frozenset(kind.RESOURCE for kind in KINDS)


class Rules:
    """Defaults and validation of our kinds by themselves."""

    def handles(self, resource: Resource, subresource: str) -> bool:
        """Our kinds; not their status, which only their controllers write."""
        return not subresource and resource in _RESOURCES

    async def default(self, review: Review) -> Document:
        assert review.new is not None
        try:
            return default(review.new, review.old, dry_run=review.dry_run)
        except CannotDefault as error:
            raise BadRequest(str(error)) from None

    async def validate(self, review: Review) -> Sequence[str]:
        if review.new is None or review.operation == "DELETE":
            return ()
        errors = validate(review.new, review.old, dry_run=review.dry_run)
        if errors:
            resource = review.resource
            raise Invalid.of(resource.kind, resource.group, review.name, errors)
        return ()
