"""Kubernetes machinery without I/O: documents, identities, errors, patches, schemas, selectors."""

from typing import Any, NamedTuple, TypeAlias

Document: TypeAlias = dict[str, Any]
"""One API object as JSON data; typed views are derived from it.

Documents from a server, a cache or a transport are shared: never change one in place.
`msgspec.convert` or `copy.deepcopy` gives a private copy.
"""


class Key(NamedTuple):
    """Namespace ("" for cluster-scoped objects) and name of an object; the key in work queues."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @classmethod
    def of(cls, document: Document) -> "Key":
        """Return the key of a document (its `metadata.namespace` and `metadata.name`)."""
        metadata = document["metadata"]
        return cls(metadata.get("namespace", ""), metadata["name"])
