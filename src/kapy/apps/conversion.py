"""Converts our kinds between API versions for the conversion webhook of a real server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kapy.api.conversion import ConversionError, convert
from kapy.api.kinds import BY_GROUP_KIND
from kapy.apiserver.errors import ConversionFailed
from kapy.contract.errors import ContractError
from kapy.contract.resolve import crd_name, resolve
from kapy.kube import Document
from kapy.kube.names import GroupKind, split_api_version

if TYPE_CHECKING:
    from kapy.apiserver.resources.version_converter import Convert


def convert_documents(
    documents: Sequence[Document],
    api_version: str,
    definition: Callable[[str], Document | None],
) -> list[Document] | None:
    """Return the objects in another version, None if their kind is not ours.

    definition: looks up CRDs by name; references get the version of their kind's CRD. Raises
    ConversionFailed.
    """
    first = documents[0]
    group, _ = split_api_version(first["apiVersion"])
    if GroupKind(group, first["kind"]) not in BY_GROUP_KIND:
        return None

    def version(kind: GroupKind) -> str:
        return _version(kind, definition)

    try:
        return [convert(document, api_version, reference_version=version) for document in documents]
    except ConversionError as error:
        raise ConversionFailed(str(error)) from None


def first_supported(*ways: Convert) -> Convert:
    """Return the first of several converters that supports a kind."""

    def convert(
        documents: Sequence[Document],
        api_version: str,
        definition: Callable[[str], Document | None],
    ) -> list[Document] | None:
        result = (way(documents, api_version, definition) for way in ways)
        return next((item for item in result if item is not None), None)

    return convert


def _version(kind: GroupKind, definition: Callable[[str], Document | None]) -> str:
    """Return the apiVersion in the CRD of a kind. Raises LookupError."""
    crd = definition(crd_name(*kind))
    if crd is None:
        raise LookupError(f"there is no CustomResourceDefinition {crd_name(*kind)}")
    try:
        return resolve(kind, crd).resource.api_version
    except ContractError as error:
        raise LookupError(str(error)) from None
