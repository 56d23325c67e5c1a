"""GeneratePatches: asks for patches of the templates of a Cluster."""

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
    """GeneratePatchesRequestItem is a template that the extension can patch."""

    uid: Annotated[
        str,
        rules("uid identifies the template. Items of the response refer to it.", zero="written"),
    ]


class GeneratePatchesRequest(TemplatesRequest, kw_only=True):
    """GeneratePatchesRequest is the request of the GeneratePatches hook."""

    items: Annotated[
        list[GeneratePatchesRequestItem] | None,
        rules("items are the templates that the extension can patch.", required=True),
    ] = field(default_factory=list[GeneratePatchesRequestItem])

    @property
    def templates(self) -> list[GeneratePatchesRequestItem]:
        """The templates; Go may write null for none of them."""
        return self.items or []


class GeneratePatchesResponseItem(Model):
    """GeneratePatchesResponseItem is a patch of one template."""

    uid: Annotated[
        str, rules("uid identifies the template, as in the item of the request.", zero="written")
    ]
    patch_type: Annotated[
        str,
        rules(
            "patchType is the format of the patch. Allowed values are JSONPatch (RFC 6902) "
            "and JSONMergePatch (RFC 7386).",
            zero="written",
        ),
    ]
    patch: Annotated[bytes | None, rules("patch is the patch in JSON, encoded as base64.")]

    @classmethod
    def json_patch(cls, uid: str, operations: list[Document]) -> Self:
        """Return a JSON patch (RFC 6902)."""
        return cls(uid=uid, patch_type=JSON_PATCH, patch=msgspec.json.encode(operations))

    @classmethod
    def merge_patch(cls, uid: str, changes: Document) -> Self:
        """Return a JSON merge patch (RFC 7386)."""
        return cls(uid=uid, patch_type=JSON_MERGE_PATCH, patch=msgspec.json.encode(changes))


class GeneratePatchesResponse(Response):
    """GeneratePatchesResponse is the response of the GeneratePatches hook."""

    items: Annotated[
        list[GeneratePatchesResponseItem],
        rules("items are the patches. They are applied in the order of the list."),
    ] = field(default_factory=list)


GENERATE_PATCHES: Final = Hook(
    "GeneratePatches",
    GeneratePatchesRequest,
    GeneratePatchesResponse,
    tags=MUTATION,
    summary="Cluster API asks for patches of the templates of a Cluster",
    description=(
        "It is called whenever the desired state of a Cluster is computed from its "
        "ClusterClass. The request contains all templates, the variables for all of them, and "
        "the variables for each of them. The response must depend on the request alone. A "
        "different response to the same request causes a rollout."
    ),
)
