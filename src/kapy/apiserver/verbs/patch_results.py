"""Results of patches, and their errors with kube-apiserver's messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

from kapy.apiserver.resources.first_decoding_error import first_decoding_error
from kapy.apiserver.resources.from_unstructured import from_unstructured
from kapy.apiserver.resources.structs import WrongType, decoder, in_go_order
from kapy.kube import Document
from kapy.kube.errors import Invalid
from kapy.kube.field_errors import FixedText, invalid
from kapy.kube.go_literals import go_text
from kapy.kube.http import JSON_PATCH
from kapy.kube.patch import field_order


class PatchResult(ABC):
    """The result of the application of a patch to an object. live: the object before the patch.
    struct: the name of the Go struct, "" for a custom kind.
    """

    def __init__(self, live: Document, patch: Any, struct: str) -> None:
        self.live = live
        self._patch = patch
        self._struct = struct

    @abstractmethod
    def describe(self) -> str:
        """Return the text of the result that an error message contains."""

    def invalid_error(self, why: str) -> Invalid:
        """Return the error that the result is not a valid object of the kind."""
        error = invalid("patch", self.describe(), why)
        return Invalid(f' "" is invalid: {error}', details={"causes": [error.cause()]})

    @abstractmethod
    def repair(self, document: Document, error: WrongType) -> Document:
        """Return the result with invalid values that kube-apiserver accepts corrected. Raises
        Invalid.
        """

    @abstractmethod
    def sort_paths(self, unknown: list[str]) -> list[str]:
        """Sort the paths of unknown fields in the order in which kube-apiserver reports them."""


class JSONPatchResult(PatchResult):
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
            return field_order.apply_json_patch(live, self._patch)
        return field_order.apply_merge_patch(live, self._patch)

    def describe(self) -> str:
        return str(FixedText.of(self._document))

    def repair(self, document: Document, error: WrongType) -> Document:
        del document
        if self._struct:
            error = first_decoding_error(self._document, self._struct) or error
        raise self.invalid_error(str(error))

    def sort_paths(self, unknown: list[str]) -> list[str]:
        if len(unknown) < 2 or not self._struct:
            return unknown
        paths: list[str] = []
        decoder(self._struct)(self._document, None, paths)
        return paths


class StrategicPatchResult(PatchResult):
    """The result of a strategic merge patch, which kube-apiserver converts without JSON text."""

    def describe(self) -> str:
        return go_text(self._patch)

    def repair(self, document: Document, error: WrongType) -> Document:
        del error
        try:
            result: Document = from_unstructured(document, self._struct)
            decoder(self._struct)(result, None, [])
        except WrongType as wrong:
            raise self.invalid_error(str(wrong)) from None
        return result

    def sort_paths(self, unknown: list[str]) -> list[str]:
        return sorted(unknown, key=lambda path: f'unknown field "{path}"')
