"""GeneratePatches: patches for the templates of a Cluster."""

from __future__ import annotations

from typing import Annotated, Final, Self

import msgspec
from msgspec import field

from kapy.hooks.hook import Hook
from kapy.hooks.messages.message import Response
from kapy.hooks.messages.patch import JSON_MERGE_PATCH, JSON_PATCH
from kapy.hooks.messages.templates import MUTATION, TemplateItem, TemplatesRequest
from kapy.kube import Document
from kapy.kube.model import Model, rules


class GeneratePatchesRequestItem(TemplateItem, kw_only=True):
    """A template to patch."""

    uid: Annotated[str, rules("What the answer calls the template.", zero="written")]


class GeneratePatchesRequest(TemplatesRequest, kw_only=True):
    """Asks GeneratePatches."""

    items: Annotated[
        list[GeneratePatchesRequestItem] | None, rules("The templates.", required=True)
    ] = field(default_factory=list[GeneratePatchesRequestItem])

    @property
    def templates(self) -> list[GeneratePatchesRequestItem]:
        """The templates; Go may write null for none of them."""
        return self.items or []


class GeneratePatchesResponseItem(Model):
    """A patch of one template."""

    uid: Annotated[str, rules("The template, as the request calls it.", zero="written")]
    patch_type: Annotated[
        str,
        rules("JSONPatch or JSONMergePatch.", zero="written"),
    ]
    patch: Annotated[bytes | None, rules("The patch, as base64 of its JSON.")]

    @classmethod
    def json_patch(cls, uid: str, operations: list[Document]) -> Self:
        """A patch of operations (RFC 6902)."""
        return cls(uid=uid, patch_type=JSON_PATCH, patch=msgspec.json.encode(operations))

    @classmethod
    def merge_patch(cls, uid: str, changes: Document) -> Self:
        """A patch that is a part of the document (RFC 7386)."""
        return cls(uid=uid, patch_type=JSON_MERGE_PATCH, patch=msgspec.json.encode(changes))


class GeneratePatchesResponse(Response):
    """Answers GeneratePatches."""

    items: Annotated[
        list[GeneratePatchesResponseItem], rules("The patches, in the order of their application.")
    ] = field(default_factory=list)


GENERATE_PATCHES: Final = Hook(
    "GeneratePatches",
    GeneratePatchesRequest,
    GeneratePatchesResponse,
    tags=MUTATION,
    summary="Asked for patches of a Cluster's templates",
    description=(
        "Called each time that a Cluster's desired state is computed from its ClusterClass. The "
        "request has all templates, the variables that hold for all of them, and those that hold "
        "for one. The answer must depend on the request alone: another answer to the same request "
        "is a rollout."
    ),
)
