"""What a module of this package says about its kind: how an older version differs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.names import GroupKind

ReferenceVersion: TypeAlias = Callable[[GroupKind], str]
"""The apiVersion to give a reference to a kind. Raises LookupError when it is not known."""


class ConversionError(KapyError):
    """An object cannot be converted; the message names object and field."""


class CannotConvert(Exception):
    """Why a field cannot be converted. path: the field."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")


class Spoke(NamedTuple):
    """An older version of a kind, and the way to and from the stored one (the hub).

    Both functions change a private document in place; only `metadata` is shared, and is exchanged
    if it must change. What the other version does not know is taken off afterwards. to_hub also
    gets what the hub was when the object was last converted from it, or None. remembers: whether
    the older version cannot say all that the hub can, and so carries it in the annotation
    `cluster.x-k8s.io/conversion-data`.
    """

    to_hub: Callable[[Document, Document | None], None]
    from_hub: Callable[[Document, ReferenceVersion], None]
    remembers: bool = True


SAME: Final = Spoke(lambda *_: None, lambda *_: None, remembers=False)
"""An older version whose fields all mean the same."""
