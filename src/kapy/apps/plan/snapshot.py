"""All objects of a management cluster at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kapy.kube import Document, Key
from kapy.kube.names import GroupKind


class Name(NamedTuple):
    """Kind and key of an object."""

    kind: GroupKind
    key: Key

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.key}"


Snapshot = Mapping[Name, Document]
"""Objects of custom kinds, each in the version that it is stored in."""
