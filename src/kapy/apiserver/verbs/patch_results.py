"""What a patch made of an object, and what is wrong with it in kube-apiserver's words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

from kapy.apiserver.resources.first_misfit import first_misfit
from kapy.apiserver.resources.restoring import restored
from kapy.apiserver.resources.structs import Misfit, decoder, in_go_order
from kapy.kube import Document
from kapy.kube.errors import Invalid
from kapy.kube.field_errors import Shown, invalid
from kapy.kube.http import JSON_PATCH
from kapy.kube.patch import field_order
from kapy.kube.patch.go_text import text


class Patched(ABC):
    """The result of a patch. live: the object before. struct: Go's, "" of a custom kind."""

    def __init__(self, live: Document, patch: Any, struct: str) -> None:
        self.live = live
        self._patch = patch
        self._struct = struct

    @abstractmethod
    def shown(self) -> str:
        """What an error shows."""

    def refusal(self, why: str) -> Invalid:
        """The result is no object of the kind."""
        error = invalid("patch", self.shown(), why)
        return Invalid(f' "" is invalid: {error}', details={"causes": [error.cause()]})

    @abstractmethod
    def repaired(self, document: Document, error: Misfit) -> Document:
        """The result with what kube-apiserver lets pass made fit. Raises Invalid."""

    @abstractmethod
    def in_order(self, unknown: list[str]) -> list[str]:
        """Paths of unknown fields, in the order in which they are told."""


class PatchedText(Patched):
    """The result of a JSON patch or a merge patch, which kube-apiserver decodes as JSON.

    media: of the patch.
    """

    def __init__(self, live: Document, patch: Any, struct: str, media: str) -> None:
        super().__init__(live, patch, struct)
        self._media = media

    @cached_property
    def _document(self) -> Any:
        live = in_go_order(self.live, self._struct)
        if self._media == JSON_PATCH:
            return field_order.json_patched(live, self._patch)
        return field_order.merge_patched(live, self._patch)

    def shown(self) -> str:
        return str(Shown.of(self._document))

    def repaired(self, document: Document, error: Misfit) -> Document:
        del document
        if self._struct:
            error = first_misfit(self._document, self._struct) or error
        raise self.refusal(str(error))

    def in_order(self, unknown: list[str]) -> list[str]:
        if len(unknown) < 2 or not self._struct:
            return unknown
        found: list[str] = []
        decoder(self._struct)(self._document, None, found)
        return found


class PatchedMap(Patched):
    """The result of a strategic merge patch, which kube-apiserver makes an object of as it is."""

    def shown(self) -> str:
        return text(self._patch)

    def repaired(self, document: Document, error: Misfit) -> Document:
        del error
        try:
            made: Document = restored(document, self._struct)
            decoder(self._struct)(made, None, [])
        except Misfit as wrong:
            raise self.refusal(str(wrong)) from None
        return made

    def in_order(self, unknown: list[str]) -> list[str]:
        return sorted(unknown, key=lambda path: f'unknown field "{path}"')
