"""The description of one resource in one version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kapy.kube import Document
from kapy.kube.names import Resource

if TYPE_CHECKING:
    from kapy.apiserver.resources.schemas import ObjectSchema
    from kapy.apiserver.resources.strategy import Strategy

ALL_VERBS = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)


CREATE_ONLY = ("create",)
"""The verbs of a virtual kind, such as a review, that is not stored."""


_SUBRESOURCE_VERBS: Final = {
    "finalize": ("update",),
    "binding": ("create",),
    "eviction": ("create",),
    "token": ("create",),
}


def subresource_verbs(name: str) -> tuple[str, ...]:
    """Return the verbs of a subresource, which do not depend on the resource."""
    return _SUBRESOURCE_VERBS.get(name, ("get", "patch", "update"))


@dataclass(frozen=True, slots=True)
class Column:
    """A printer column of a kind. path: the path of the cell's value (`.spec.replicas`)."""

    name: str
    type: str
    path: str = ""
    format: str = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """One resource in one served version.

    table: the storage key; versions (and for Events: groups) of one resource share it. storage: the
    storage version. schema: prunes, defaults, validates and merges objects. strategy: special rules
    of writes. selectable: the paths of fields for field selectors, beyond name and namespace.
    json_begins: how the JSON of an object in this version begins, if its type comes first.
    """

    resource: Resource
    table: str
    storage: Resource
    strategy: Strategy
    schema: ObjectSchema
    singular: str
    list_kind: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: frozenset[str] = frozenset()
    selectable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    custom: bool = False
    scale: Document | None = None
    deprecation: str = ""
    namespaced: bool = field(init=False)
    json_begins: tuple[bytes, ...] = field(init=False)

    def __post_init__(self) -> None:
        # Fields instead of properties, because each request reads them.
        object.__setattr__(self, "namespaced", self.resource.namespaced)
        version = b'"apiVersion":"%b"' % self.resource.api_version.encode()
        kind = b'"kind":"%b"' % self.resource.kind.encode()
        begins = b"{%b," % version, b"{%b,%b," % (kind, version)
        object.__setattr__(self, "json_begins", begins)

    @property
    def group_resource(self) -> str:
        """Return resource and group as in messages: `widgets.example.dev`."""
        return self.resource.group_resource
