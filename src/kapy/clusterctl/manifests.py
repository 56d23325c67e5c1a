"""Objects out of a file's text, and back.

Upstream: `util/yaml`. What a mistake is told with is the file's line.
"""

from __future__ import annotations

from collections.abc import Iterable

from kapy.clusterctl.errors import ClusterctlError
from kapy.kube import Document, yaml


class BadManifest(ClusterctlError):
    """A file is no list of objects; the message has the line."""


def objects_of(text: str, source: str) -> list[Document]:
    """The objects of a file; empty documents are none. source: its name. Raises BadManifest."""
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


def text_of(documents: Iterable[Document]) -> str:
    """The text of objects as commands print it; it ends with a newline."""
    return yaml.dump_all(list(documents)) or "\n"
