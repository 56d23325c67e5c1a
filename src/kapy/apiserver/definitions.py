"""CustomResourceDefinitions: the server serves what they say as soon as they are stored."""

from __future__ import annotations

from kapy.apiserver.plane import Plane
from kapy.apiserver.resources.custom import kinds_of
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.store.history import Happening

TABLE = "customresourcedefinitions.apiextensions.k8s.io"


def follow(plane: Plane) -> None:
    """Serve the CRDs that are stored, and keep up with them."""
    served: dict[str, list[Kind]] = {}

    def renew() -> None:
        plane.registry = plane.registry.with_custom(
            kind for kinds in served.values() for kind in kinds
        )

    def noticed(one: Happening) -> None:
        if one.table != TABLE:
            return
        if one.change == "DELETED":
            served.pop(one.name, None)
        else:
            served[one.name] = kinds_of(one.document)
        renew()

    table = plane.store.peek(TABLE)
    if table is not None:
        for document in table.scan(""):
            served[document["metadata"]["name"]] = kinds_of(document)
        renew()
    plane.store.listeners.append(noticed)
