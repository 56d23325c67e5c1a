"""The base of every typed object, and how a field's schema is written beside its type."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from kapy.kube import Document


class Model(
    msgspec.Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=False, kw_only=True
):
    """What every Struct shares. A field without a default is required; `None` is absent."""


M = TypeVar("M", bound=Model)


def decode(document: Document, kind: type[M]) -> M:
    """A private, typed copy of `document`; fields that the Struct does not know are left out."""
    return msgspec.convert(document, kind)


def encode(model: Model) -> Document:
    """The document of a Struct: what is absent or at its default stays off the wire."""
    document: Document = msgspec.to_builtins(model)
    return document


def rules(description: str = "", **more: Any) -> msgspec.Meta:
    """A field's sentence, and its schema beyond the type (`max_items=3` is `maxItems: 3`).

    Constraints are for the server's schema only: msgspec never checks them, so that an object
    which another version let through still decodes.
    """
    words = {"description": description} if description else {}
    return msgspec.Meta(
        extra_json_schema=words | {_spelled(key): value for key, value in more.items()}
    )


def _spelled(key: str) -> str:
    if key.startswith("x_"):
        return key.replace("_", "-")
    head, *tail = key.split("_")
    return head + "".join(word.capitalize() for word in tail)
