"""Reads objects from a file's text, and writes them.

Upstream: `util/yaml`. Errors name the line of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kapy.clusterctl.errors import ClusterctlError
from kapy.kube import Document, yaml


class BadManifest(ClusterctlError):
    """A file is not a list of objects; the message names the line."""


def objects_of(text: str, source: str) -> list[Document]:
    """Return the objects of a file, with valid metadata. source: its name.

    Empty documents are skipped. Raises BadManifest.
    """
    documents = documents_of(text, source)
    for place, document in enumerate(documents, 1):
        for field, what in _shape_errors(document):
            raise BadManifest(
                f"failed to parse yaml: {source}: document {place}: {field} must be {what}"
            )
    return documents


def documents_of(text: str, source: str) -> list[Document]:
    """Return the objects of a file, without checks of their content. Raises BadManifest."""
    try:
        values = yaml.load_all(text.encode("utf-8", "surrogateescape"), source)
    except yaml.YamlError as error:
        raise BadManifest(f"failed to parse yaml: {error}") from error
    for place, value in enumerate(values, 1):
        if not isinstance(value, dict):
            raise BadManifest(
                f"failed to parse yaml: {source}: document {place} is no object (kind, metadata …)"
            )
    return values


_TEXTS: Final = ("name", "namespace")
_OBJECTS: Final = ("labels", "annotations")


def _shape_errors(document: Document) -> Iterator[tuple[str, str]]:
    """Fields of any object that have a wrong type, with the expected one."""
    for field in ("apiVersion", "kind"):
        if not isinstance(document.get(field) or "", str):
            yield field, "a string"
    if document.get("metadata") is None:
        document.pop("metadata", None)
    metadata = document.get("metadata", {})
    if not isinstance(metadata, dict):
        yield "metadata", "an object"
        return
    for fields, kind, what in ((_TEXTS, str, "a string"), (_OBJECTS, dict, "an object")):
        for field in fields:
            if metadata.get(field) is not None and not isinstance(metadata[field], kind):
                yield f"metadata.{field}", what


def text_of(documents: Iterable[Document]) -> str:
    """Return the objects as YAML text for printing; it ends with a newline."""
    return yaml.dump_all(list(documents)) or "\n"
