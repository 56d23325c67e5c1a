"""A condition with the object that reports it: the input of merges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kapy.api.condition import Condition
from kapy.api.names import Label
from kapy.conditions.change import Conditioned


class Owner(NamedTuple):
    """The reporting object, as messages name it."""

    kind: str
    name: str
    control_plane: bool = False


class Owned(NamedTuple):
    """A condition, and the object that reports it. others: names of further objects of the same
    kind that report an equal one.
    """

    condition: Condition
    owner: Owner
    others: Sequence[str] = ()


def owner_of(obj: Conditioned) -> Owner:
    """Return the owner of an object's conditions; control plane Machines are distinguished."""
    kind, metadata = obj.RESOURCE.kind, obj.metadata
    return Owner(kind, metadata.name, kind == "Machine" and Label.CONTROL_PLANE in metadata.labels)
