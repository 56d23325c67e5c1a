"""A compiled structural schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from kapy.kube import Document
from kapy.kube.field_errors import FieldError

Rules: TypeAlias = Callable[[str, Any, Any], list[FieldError]]
"""Checks the `x-kubernetes-validations` of one schema node: (path, value, old value or None)."""


class RuleChecker(Protocol):
    """Compiles the `x-kubernetes-validations` of a schema node: the seam to a CEL engine."""

    def __call__(self, schema: Document) -> Rules | None:
        """The check for a node whose schema document is `schema`, None when it has no rules."""
        ...


class Structural:
    """What a schema says about documents, as functions that were built once."""

    @classmethod
    def compile(cls, schema: Document, *, rules: RuleChecker | None = None) -> Structural:
        """From an `openAPIV3Schema` document that is structural (see `schema.definition`).

        rules: compiles CEL rules; without it they are not checked.
        """
        raise NotImplementedError

    def default(self, document: Document) -> Document:
        """The document with defaults filled in and nulls dropped where they may not stand."""
        raise NotImplementedError

    def prune(self, document: Document) -> tuple[Document, list[str]]:
        """The document without what the schema does not know, and the paths of what was dropped
        (`spec.foo`, `spec.items[0].bar`, sorted)."""
        raise NotImplementedError

    def validate(self, new: Document, old: Document | None = None) -> list[FieldError]:
        """What is wrong with `new`; with `old`, what was wrong already and did not change is
        forgiven (ratcheting)."""
        raise NotImplementedError
