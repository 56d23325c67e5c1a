"""Kubernetes machinery without I/O: documents, identities, errors, patches, schemas, selectors."""

from typing import Any, NamedTuple, TypeAlias

Document: TypeAlias = dict[str, Any]
"""One API object exactly as it travels: the source of truth; typed views are lenses over it.

Documents that were read from a server, a cache or a transport are shared: never change one in
place. `msgspec.convert` or `copy.deepcopy` gives a private copy.
"""


class Key(NamedTuple):
    """Namespace ("" when cluster-scoped) and name of an object; all that a work queue carries."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @classmethod
    def of(cls, document: Document) -> "Key":
        """The key of a document (its `metadata.namespace` and `metadata.name`)."""
        metadata = document["metadata"]
        return cls(metadata.get("namespace", ""), metadata["name"])
