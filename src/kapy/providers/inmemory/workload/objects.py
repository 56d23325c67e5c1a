"""Write the objects of a workload cluster in place of its kubelets and kubeadm.

Objects are stored directly, without admission: ten thousand clusters have half a million objects.
Equal parts of objects are shared, which is safe because a store never changes a document in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kapy.api.times import stamp
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.metadata import new_uid
from kapy.apiserver.server import Server
from kapy.apiserver.store.table import Table
from kapy.kube import Document
from kapy.kube.names import Resource

SYSTEM: Final = "kube-system"
PUBLIC: Final = "kube-public"
NODE_LEASES: Final = "kube-node-lease"
DEFAULT: Final = "default"

Make = Callable[[], Document]


class Objects:
    """The objects of one API server, by resource, namespace and name."""

    __slots__ = ("_server",)

    def __init__(self, server: Server) -> None:
        self._server = server

    def get(self, resource: Resource, namespace: str, name: str) -> Document | None:
        """Return the object, None if it does not exist."""
        return self._table(self._kind(resource)).latest(namespace, name)

    def ensure(self, resource: Resource, namespace: str, name: str, make: Make) -> bool:
        """Create the object unless it exists; return whether it was created. make: returns
        everything but the identity.
        """
        kind = self._kind(resource)
        table = self._table(kind)
        if table.latest(namespace, name) is not None:
            return False
        plane = self._server.context
        content = make()
        metadata: Document = {"name": name}
        if namespace:
            metadata["namespace"] = namespace
        metadata["uid"] = new_uid(plane.rng)
        metadata["creationTimestamp"] = stamp(plane.clock())
        if kind.strategy.generation:
            metadata["generation"] = 1
        metadata |= content.get("metadata", {})
        document = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            **content,
            "metadata": metadata,
        }
        plane.store.put(table, namespace, name, document)
        return True

    def drop(self, resource: Resource, namespace: str, name: str) -> None:
        """Delete the object, if it exists, regardless of its finalizers."""
        table = self._table(self._kind(resource))
        last = table.latest(namespace, name)
        if last is not None:
            self._server.store.delete(table, namespace, name, last)

    def _kind(self, resource: Resource) -> Kind:
        kind = self._server.context.registry.find(resource.group, resource.version, resource.plural)
        assert kind is not None, f"the API server serves no {resource.plural}"
        return kind

    def _table(self, kind: Kind) -> Table:
        return self._server.context.table(kind)
