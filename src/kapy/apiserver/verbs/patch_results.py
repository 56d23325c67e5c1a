"""Results of patches, and their errors with kube-apiserver's messages."""

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
    """The result of a patch.

    live: the object before the patch. struct: the name of the Go struct, "" for a custom kind.
    """

    def __init__(self, live: Document, patch: Any, struct: str) -> None:
        self.live = live
        self._patch = patch
        self._struct = struct

    @abstractmethod
    def shown(self) -> str:
        """Return the text of the result that an error message contains."""

    def refusal(self, why: str) -> Invalid:
        """Return the error that the result is not a valid object of the kind."""
        error = invalid("patch", self.shown(), why)
        return Invalid(f' "" is invalid: {error}', details={"causes": [error.cause()]})

    @abstractmethod
    def repaired(self, document: Document, error: Misfit) -> Document:
        """Return the result with invalid values that kube-apiserver accepts corrected. Raises
        Invalid.
        """

    @abstractmethod
    def in_order(self, unknown: list[str]) -> list[str]:
        """Sort the paths of unknown fields in the order in which kube-apiserver reports them."""


class PatchedText(Patched):
    """The result of a JSON patch or a merge patch, which kube-apiserver decodes from JSON text.

    media: the media type of the patch.
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
    """The result of a strategic merge patch, which kube-apiserver converts without JSON text."""

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
