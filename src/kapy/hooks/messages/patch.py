"""A patch of one object, in one of two forms (`inplaceupdate_types.go`)."""

from __future__ import annotations

from typing import Annotated, Final, Self

import msgspec

from kapy.kube import Document
from kapy.kube.model import Model, rules

JSON_PATCH: Final = "JSONPatch"
JSON_MERGE_PATCH: Final = "JSONMergePatch"


class Patch(Model):
    """Patch is a patch of one object. An empty patch changes nothing."""

    patch_type: Annotated[
        str,
        rules(
            "patchType is the format of the patch. Allowed values are JSONPatch (RFC 6902) "
            "and JSONMergePatch (RFC 7386).",
            required=True,
        ),
    ] = ""
    patch: Annotated[
        bytes, rules("patch is the patch in JSON, encoded as base64.", required=True)
    ] = b""

    @classmethod
    def operations(cls, *operations: Document) -> Self:
        """Return a JSON patch (RFC 6902)."""
        return cls(patch_type=JSON_PATCH, patch=msgspec.json.encode(operations))

    @classmethod
    def merge(cls, changes: Document) -> Self:
        """Return a JSON merge patch (RFC 7386)."""
        return cls(patch_type=JSON_MERGE_PATCH, patch=msgspec.json.encode(changes))


ChangedInPlace = Annotated[
    Patch | None,
    rules("The part of the change that is made in place; none if it is not set.", zero="omitted"),
]

IN_PLACE: Final = ("In-Place Update Hooks",)
