"""The hooks that patch and validate the templates of a Cluster, and that discover variables
(`topologymutation_types.go`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Final, Self

import msgspec
from msgspec import field

from kapy.api.cluster_class_variables import ClusterClassVariable
from kapy.hooks.hook import Hook
from kapy.hooks.messages.content import CLASS_VARIABLE, RAW_OBJECT, RAW_VALUE
from kapy.hooks.messages.in_place_update import JSON_MERGE_PATCH, JSON_PATCH
from kapy.hooks.messages.message import Request, Response
from kapy.kube import Document
from kapy.kube.model import Model, encode, rules

_MUTATION = ("Topology Mutation Hook",)


class Variable(Model):
    """Variable is the value of one variable."""

    name: Annotated[str, rules("name is the name of the variable.", zero="written")]
    value: Annotated[Any, rules("value is the value of the variable in JSON.", of=RAW_VALUE)]


class HolderReference(Model):
    """HolderReference is a reference to the object and the field that refer to a template."""

    api_version: Annotated[
        str, rules("apiVersion is the API group and version of the object.", zero="written")
    ]
    kind: Annotated[str, rules("kind is the kind of the object.", zero="written")]
    namespace: Annotated[str, rules("namespace is the namespace of the object.", zero="written")]
    name: Annotated[str, rules("name is the name of the object.", zero="written")]
    field_path: Annotated[
        str,
        rules("fieldPath is the path of the field that refers to the template.", zero="written"),
    ]


class TemplateItem(Model):
    """TemplateItem is a template together with its use and its variables."""

    holder_reference: Annotated[
        HolderReference,
        rules(
            "holderReference is a reference to the object and the field that refer to the template."
        ),
    ]
    object: Annotated[Document, rules("object is the template.", of=RAW_OBJECT)]
    variables: Annotated[
        list[Variable],
        rules(
            "variables are the values of variables for this template. They take precedence "
            "over those of the request."
        ),
    ] = field(default_factory=list)


class TemplatesRequest(Request, kw_only=True):
    """TemplatesRequest is a request about all templates of a Cluster."""

    variables: Annotated[
        list[Variable], rules("variables are the values of variables for all templates.")
    ] = field(default_factory=list)


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
    tags=_MUTATION,
    summary="Cluster API asks for patches of the templates of a Cluster",
    description=(
        "It is called whenever the desired state of a Cluster is computed from its "
        "ClusterClass. The request contains all templates, the variables for all of them, and "
        "the variables for each of them. The response must depend on the request alone. A "
        "different response to the same request causes a rollout."
    ),
)


class ValidateTopologyRequestItem(TemplateItem, kw_only=True):
    """ValidateTopologyRequestItem is a template that the extension validates."""


class ValidateTopologyRequest(TemplatesRequest, kw_only=True):
    """ValidateTopologyRequest is the request of the ValidateTopology hook."""

    items: Annotated[
        list[ValidateTopologyRequestItem | None] | None,
        rules("items are the templates after all patches.", required=True),
    ] = field(default_factory=list[ValidateTopologyRequestItem | None])

    @property
    def templates(self) -> list[ValidateTopologyRequestItem]:
        """The templates; Go may write null for none of them, or for one."""
        return [request_item for request_item in self.items or () if request_item is not None]


class ValidateTopologyResponse(Response):
    """ValidateTopologyResponse is the response of the ValidateTopology hook. The status
    Failure rejects the topology.
    """


VALIDATE_TOPOLOGY: Final = Hook(
    "ValidateTopology",
    ValidateTopologyRequest,
    ValidateTopologyResponse,
    tags=_MUTATION,
    summary="Cluster API asks whether the patched templates of a Cluster are valid",
    description=(
        "It is called whenever the desired state of a Cluster has been computed from its "
        "ClusterClass and all patches have been applied. A response with the status Failure "
        "rejects the change. The user sees its message."
    ),
)


class DiscoverVariablesRequest(Request, kw_only=True):
    """DiscoverVariablesRequest is the request of the DiscoverVariables hook."""


class DiscoverVariablesResponse(Response):
    """DiscoverVariablesResponse is the response of the DiscoverVariables hook."""

    variables: Annotated[
        list[Document],
        rules(
            "variables are the definitions of variables, in the format of spec.variables of "
            "a ClusterClass.",
            of=CLASS_VARIABLE,
        ),
    ] = field(default_factory=list)

    @classmethod
    def listing(cls, variables: Iterable[ClusterClassVariable]) -> Self:
        """Return a response with these variables."""
        return cls(variables=[encode(variable) for variable in variables])


DISCOVER_VARIABLES: Final = Hook(
    "DiscoverVariables",
    DiscoverVariablesRequest,
    DiscoverVariablesResponse,
    tags=_MUTATION,
    summary="Cluster API asks which variables an external patch defines",
    description=(
        "It is called when a ClusterClass that names the handler is reconciled. The response "
        "contains all variables of the patch with their schemas. Clusters can set these "
        "variables."
    ),
)
